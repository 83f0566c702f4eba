/*
 * A thread per worker reads its stderr. It cannot be done by whoever waits for
 * frames: between requests nobody does, and fd 1 of the worker is its stderr too,
 * so a child or a thread that prints there would stop for good at 64 KiB.
 *
 * The pipe's end is not the worker's end (a child that outlives it holds the
 * pipe), so the thread is told to stop, and then reads until the pipe is empty.
 * Part of libeinkorn-host. Owns the fds and the thread.
 */

#include "kernel/host_stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bridge/check.h"
#include "kernel/quiet_thread.h"

static void keep(struct host_stderr *self, const char *bytes, size_t n)
{
    (void)pthread_mutex_lock(&self->lock);
    buffer_put(&self->tail, bytes, n);
    if (self->tail.n > 2 * (size_t)HOST_STDERR_KEPT) {
        buffer_drop_front(&self->tail, self->tail.n - HOST_STDERR_KEPT);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

/* -> false: the pipe is at its end. */
static bool take(struct host_stderr *self)
{
    char bytes[16384];

    for (;;) {
        ssize_t n = read(self->fd, bytes, sizeof bytes);

        if (n > 0) {
            keep(self, bytes, (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            return n == -1 && errno == EAGAIN;
        }
    }
}

static void *drain(void *arg)
{
    struct host_stderr *self = arg;
    struct pollfd fds[2] = {{.fd = self->fd, .events = POLLIN},
                            {.fd = self->wake, .events = POLLIN}};

    do {
        if (poll(fds, 2, -1) > 0 && fds[0].revents != 0 && !take(self)) {
            fds[0].fd = -1;
        }
    } while ((fds[1].revents & POLLIN) == 0);
    (void)take(self);
    return NULL;
}

int host_stderr_init(struct host_stderr *self, int fd)
{
    int r;

    *self = (struct host_stderr){.fd = fd, .wake = eventfd(0, EFD_CLOEXEC)};
    if (self->wake < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) == -1) {
        r = -errno;
        (void)close(fd);
        (void)close(self->wake);
        return r;
    }
    CHECK(pthread_mutex_init(&self->lock, NULL) == 0);
    CHECK(pthread_mutex_init(&self->settling, NULL) == 0);
    r = quiet_thread_start(&self->thread, drain, self);
    if (r < 0) {
        self->settled = true;
        host_stderr_release(self);
    }
    return r;
}

void host_stderr_settle(struct host_stderr *self)
{
    static const uint64_t one = 1;

    (void)pthread_mutex_lock(&self->settling);
    if (!self->settled) {
        CHECK(write(self->wake, &one, sizeof one) == sizeof one);
        CHECK(pthread_join(self->thread, NULL) == 0);
        self->settled = true;
    }
    (void)pthread_mutex_unlock(&self->settling);
}

void host_stderr_release(struct host_stderr *self)
{
    host_stderr_settle(self);
    (void)close(self->fd);
    (void)close(self->wake);
    (void)pthread_mutex_destroy(&self->lock);
    (void)pthread_mutex_destroy(&self->settling);
    buffer_release(&self->tail);
}

size_t host_stderr_tail(struct host_stderr *self, char *text, size_t size)
{
    size_t n;

    (void)pthread_mutex_lock(&self->lock);
    n = self->tail.n < size ? self->tail.n : size;
    n = n < HOST_STDERR_KEPT ? n : HOST_STDERR_KEPT;
    if (n > 0) {
        memcpy(text, self->tail.p + self->tail.n - n, n);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return n;
}
