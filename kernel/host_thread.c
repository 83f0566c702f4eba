/*
 * A deadline is a thread, not a timeout of the read: the transport may be the
 * caller's, and the one thing that every transport can do about a peer that
 * keeps silent is kill it, after which its read returns. Part of
 * libeinkorn-host. A deadline owns its thread from start to stop.
 */

#include "kernel/host_thread.h"

#include <errno.h>
#include <time.h>

#include "bridge/check.h"
#include "kernel/quiet_thread.h"

static struct timespec after(unsigned ms)
{
    struct timespec at;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void *wait_and_fire(void *arg)
{
    struct host_deadline *self = arg;
    struct timespec at = after(self->ms);
    int r = 0;

    (void)pthread_mutex_lock(&self->lock);
    while (!self->stopped && r != ETIMEDOUT) {
        r = pthread_cond_timedwait(&self->changed, &self->lock, &at);
    }
    self->fired = !self->stopped;
    (void)pthread_mutex_unlock(&self->lock);
    if (self->fired) {
        self->fire(self->arg);
    }
    return NULL;
}

int host_deadline_start(struct host_deadline *self, unsigned ms, void (*fire)(void *arg), void *arg)
{
    pthread_condattr_t monotonic;
    int r;

    *self = (struct host_deadline){.ms = ms, .fire = fire, .arg = arg};
    if (ms == 0) {
        return 0;
    }
    CHECK(pthread_mutex_init(&self->lock, NULL) == 0);
    CHECK(pthread_condattr_init(&monotonic) == 0);
    CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&self->changed, &monotonic) == 0);
    (void)pthread_condattr_destroy(&monotonic);
    r = quiet_thread_start(&self->thread, wait_and_fire, self);
    if (r < 0) {
        (void)pthread_cond_destroy(&self->changed);
        (void)pthread_mutex_destroy(&self->lock);
    }
    return r;
}

bool host_deadline_stop(struct host_deadline *self)
{
    if (self->ms == 0) {
        return false;
    }
    (void)pthread_mutex_lock(&self->lock);
    self->stopped = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_join(self->thread, NULL);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->lock);
    return self->fired;
}
