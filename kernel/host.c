/*
 * A host's life, and what may be asked of it at any time. Part of
 * libeinkorn-host; see host_self.h for who may do what.
 *
 * A turn is a flag under a lock, not a lock that is held: the thread that takes
 * it may be in a callback of somebody's for hours, and whoever must not wait (an
 * interrupt, host_inspect, a callback that calls back) sees that it is taken.
 */

#include "kernel/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "bridge/check.h"
#include "bridge/xalloc.h"
#include "kernel/host_error.h"
#include "kernel/host_self.h"
#include "kernel/host_stderr.h"

void host_token(char *ret_text, size_t bytes)
{
    unsigned char random[HOST_TOKEN_BYTES];

    CHECK(bytes <= sizeof random);
    while (getrandom(random, bytes, 0) != (ssize_t)bytes) {
        CHECK(errno == EINTR); /* so few bytes come whole, or not at all */
    }
    for (size_t i = 0; i < bytes; i++) {
        static const char digits[] = "0123456789abcdef";

        *ret_text++ = digits[random[i] >> 4];
        *ret_text++ = digits[random[i] & 15];
    }
    *ret_text = '\0';
}

/* ---- turns ------------------------------------------------------------------------ */

int host_turn_take(struct host *self, bool wait, struct host_error *reterr)
{
    int r = 0;

    (void)pthread_mutex_lock(&self->lock);
    if (self->taken && (!wait || pthread_equal(self->owner, pthread_self()))) {
        r = host_error_set(reterr, HOST_EBUSY, 0, "kernel is busy: another request is running");
    } else {
        while (self->taken) {
            (void)pthread_cond_wait(&self->turn_ended, &self->lock);
        }
        if (self->closed) {
            r = host_error_set(reterr, HOST_EDEAD, 0, "kernel has been shut down");
        } else {
            self->taken = true;
            self->owner = pthread_self();
        }
    }
    (void)pthread_mutex_unlock(&self->lock);
    return r;
}

void host_turn_end(struct host *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->taken = false;
    (void)pthread_cond_broadcast(&self->turn_ended);
    (void)pthread_mutex_unlock(&self->lock);
}

/* ---- making and ending -------------------------------------------------------------- */

static const char *dup_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

/* A NULL-terminated list in one block. */
static void *list_dup(const char *const *list)
{
    size_t count = 0, bytes = 0;
    char **copy, *at;

    if (!list) {
        return NULL;
    }
    for (; list[count]; count++) {
        bytes += strlen(list[count]) + 1;
    }
    copy = xmalloc((count + 1) * sizeof *copy + bytes);
    at = (char *)(copy + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(list[i]) + 1;

        copy[i] = memcpy(at, list[i], n);
        at += n;
    }
    copy[count] = NULL;
    return copy;
}

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

/* `given` may be of an older, shorter kind. */
static void copy_options(struct host_options *self, const struct host_options *given)
{
    memcpy(self, given, given->size < sizeof *self ? given->size : sizeof *self);
    self->einkorn = dup_or_null(self->einkorn);
    self->python = dup_or_null(self->python);
    self->cwd = dup_or_null(self->cwd);
    self->mode = dup_or_null(self->mode);
    self->env_root = dup_or_null(self->env_root);
    self->env_name = dup_or_null(self->env_name);
    self->repo_root = dup_or_null(self->repo_root);
    self->generation = dup_or_null(self->generation);
    self->argv = list_dup(self->argv);
    self->environment = list_dup((const char *const *)self->environment);
    self->ready_ms = or_default(self->ready_ms, HOST_READY_MS);
    self->shutdown_ms = or_default(self->shutdown_ms, HOST_SHUTDOWN_MS);
    self->line_limit = self->line_limit > 0 ? self->line_limit : HOST_LINE_LIMIT;
}

static void free_options(struct host_options *self)
{
    const void *const owned[] = {self->einkorn,    self->python,     self->cwd,       self->mode,
                                 self->env_root,   self->env_name,   self->repo_root, self->argv,
                                 self->generation, self->environment};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free((void *)(uintptr_t)owned[i]);
    }
}

static struct host *make(const struct host_options *options)
{
    struct host *self = xcalloc(1, sizeof *self);
    pthread_condattr_t monotonic;

    copy_options(&self->options, options);
    self->cwd = realpath(self->options.cwd ? self->options.cwd : ".", NULL);
    CHECK(pthread_mutex_init(&self->lock, NULL) == 0);
    CHECK(pthread_condattr_init(&monotonic) == 0);
    CHECK(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&self->turn_ended, &monotonic) == 0);
    (void)pthread_condattr_destroy(&monotonic);
    memcpy(self->id_prefix, "cell-", 5);
    host_token(self->id_prefix + 5, 8);
    return self;
}

static void destroy(struct host **self_p)
{
    struct host *self = *self_p;

    *self_p = NULL;
    (void)pthread_cond_destroy(&self->turn_ended);
    (void)pthread_mutex_destroy(&self->lock);
    host_skills_release(&self->skills);
    host_record_release(&self->record);
    free_options(&self->options);
    free(self->last_stderr);
    free(self->cwd);
    free(self);
}

int host_new(const struct host_options *options, struct host **ret_host, struct host_error *reterr)
{
    struct host *self;
    int r;

    if (options->size < sizeof options->size) {
        return host_error_set(reterr, HOST_EVALUE, 0, "options are not of HOST_OPTIONS_INIT");
    }
    self = make(options);
    if (!self->cwd) {
        r = host_error_set(reterr, HOST_ESTART, errno, "the workspace %s cannot be used: %s",
                           self->options.cwd ? self->options.cwd : ".", strerror(errno));
    } else {
        r = host_connect(self, reterr);
    }
    if (r < 0) {
        destroy(&self);
        return r;
    }
    *ret_host = self;
    return 0;
}

void host_shutdown(struct host *self)
{
    static const char line[] = "{\"type\":\"shutdown\"}\n";
    struct timespec until;
    bool graceful;
    int r = 0;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_sec += self->options.shutdown_ms / 1000;
    until.tv_nsec += (long)(self->options.shutdown_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_mutex_lock(&self->lock);
    self->closed = true;
    while (self->taken && r != ETIMEDOUT) {
        r = pthread_cond_timedwait(&self->turn_ended, &self->lock, &until);
    }
    if (self->taken && self->connected) {
        self->transport.kill(self->transport.arg);
    }
    while (self->taken) {
        (void)pthread_cond_wait(&self->turn_ended, &self->lock);
    }
    self->taken = true;
    self->owner = pthread_self();
    (void)pthread_mutex_unlock(&self->lock);

    graceful = self->connected && self->transport.alive(self->transport.arg) &&
               host_send(self, (struct slice){(const uint8_t *)line, sizeof line - 1}, NULL) == 0;
    host_disconnect(self, graceful);
    host_turn_end(self);
}

void host_destroy(struct host **self_p)
{
    if (self_p && *self_p) {
        host_shutdown(*self_p);
        destroy(self_p);
    }
}

int host_restart(struct host *self, struct host_error *reterr)
{
    int r;

    (void)pthread_mutex_lock(&self->lock);
    if (!(self->taken && pthread_equal(self->owner, pthread_self())) && self->connected) {
        self->transport.kill(self->transport.arg);
    }
    (void)pthread_mutex_unlock(&self->lock);
    r = host_turn_take(self, true, reterr);
    if (r < 0) {
        return r;
    }
    host_disconnect(self, false);
    (void)pthread_mutex_lock(&self->lock);
    self->generation++;
    (void)pthread_mutex_unlock(&self->lock);
    r = host_connect(self, reterr);
    host_turn_end(self);
    return r;
}

/* ---- at any time --------------------------------------------------------------------- */

bool host_interrupt(struct host *self)
{
    bool sent;

    (void)pthread_mutex_lock(&self->lock);
    sent = self->connected && self->transport.interrupt(self->transport.arg);
    (void)pthread_mutex_unlock(&self->lock);
    return sent;
}

void host_kill(struct host *self)
{
    (void)pthread_mutex_lock(&self->lock);
    if (self->connected) {
        self->transport.kill(self->transport.arg);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

bool host_is_alive(struct host *self)
{
    bool alive;

    (void)pthread_mutex_lock(&self->lock);
    alive = self->connected && self->transport.alive(self->transport.arg);
    (void)pthread_mutex_unlock(&self->lock);
    return alive;
}

pid_t host_pid(struct host *self)
{
    pid_t pid = 0;

    (void)pthread_mutex_lock(&self->lock);
    if (self->connected && self->transport.pid) {
        pid = self->transport.pid(self->transport.arg);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return pid;
}

unsigned host_generation(struct host *self)
{
    unsigned generation;

    (void)pthread_mutex_lock(&self->lock);
    generation = self->generation;
    (void)pthread_mutex_unlock(&self->lock);
    return generation;
}

size_t host_stale_chunks(struct host *self)
{
    size_t count;

    (void)pthread_mutex_lock(&self->lock);
    count = self->stale_chunks;
    (void)pthread_mutex_unlock(&self->lock);
    return count;
}

bool host_is_recoverable(struct host *self)
{
    bool is;

    (void)pthread_mutex_lock(&self->lock);
    is = !self->skills.broken;
    (void)pthread_mutex_unlock(&self->lock);
    return is;
}

char **host_log_tail_dup(struct host *self)
{
    char **logs;

    (void)pthread_mutex_lock(&self->lock);
    logs = host_record_logs_dup(&self->record);
    (void)pthread_mutex_unlock(&self->lock);
    return logs;
}

struct host_call_entry *host_call_log_dup(struct host *self, size_t *ret_n)
{
    struct host_call_entry *calls;

    (void)pthread_mutex_lock(&self->lock);
    calls = host_record_calls_dup(&self->record, ret_n);
    (void)pthread_mutex_unlock(&self->lock);
    return calls;
}

char *host_authorization_generation(struct host *self)
{
    char *name;

    (void)pthread_mutex_lock(&self->lock);
    name = xstrdup(self->connected ? self->authorization : "");
    (void)pthread_mutex_unlock(&self->lock);
    return name;
}

char *host_stderr_tail_dup(struct host *self, size_t *ret_n)
{
    char *text = xmalloc(HOST_STDERR_KEPT + 1);
    size_t n = 0;

    (void)pthread_mutex_lock(&self->lock);
    if (!self->connected) {
        n = self->last_stderr_n;
        memcpy(text, self->last_stderr ? self->last_stderr : "", n);
    } else if (self->transport.stderr_tail) {
        n = self->transport.stderr_tail(self->transport.arg, text, HOST_STDERR_KEPT);
    }
    (void)pthread_mutex_unlock(&self->lock);
    text[n] = '\0';
    *ret_n = n;
    return text;
}
