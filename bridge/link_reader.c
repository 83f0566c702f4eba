/*
 * The worker's reader of requests. There is no thread for it: whoever waits
 * for something, the main thread between cells, an input() in any thread, the
 * service thread, takes the role of the reader and files what comes; the
 * others sleep until something was filed or the role is free. No thread holds
 * the mutex longer than a few instructions, and none sleeps with the GIL.
 * Owns the requests until they are handed out, not the fd.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/link_futex.h"
#include "bridge/xalloc.h"

/* -> an epoll fd that tells of both, -errno. */
static int watch_both(int fd, int bell)
{
    struct epoll_event event = {.events = EPOLLIN};
    int watch = epoll_create1(EPOLL_CLOEXEC);
    if (watch >= 0 && epoll_ctl(watch, EPOLL_CTL_ADD, fd, &event) == 0 &&
        epoll_ctl(watch, EPOLL_CTL_ADD, bell, &event) == 0) {
        return watch;
    }
    int error = -errno;
    if (watch >= 0) {
        close(watch);
    }
    return error;
}

int link_reader_init(struct link_reader *self, int fd)
{
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int watch = bell >= 0 ? watch_both(fd, bell) : -errno;
    if (watch < 0) {
        if (bell >= 0) {
            close(bell);
        }
        return watch;
    }
    *self = (struct link_reader){.fd = fd, .bell = bell, .watch = watch};
    for (size_t i = 0; i < LINK_REQUEST_END; i++) {
        self->queue_end[i] = &self->queue[i];
    }
    return -pthread_mutex_init(&self->mutex, NULL);
}

int link_reader_fd(const struct link_reader *self)
{
    return self->watch;
}

void link_request_destroy(struct link_request **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

void link_reader_release(struct link_reader *self)
{
    for (size_t i = 0; i < LINK_REQUEST_END; i++) {
        while (self->queue[i] != NULL) {
            struct link_request *request = self->queue[i];
            self->queue[i] = request->next;
            link_request_destroy(&request);
        }
        self->queue_end[i] = &self->queue[i];
    }
    link_request_destroy(&self->partial);
    (void)pthread_mutex_destroy(&self->mutex);
    close(self->watch);
    close(self->bell);
}

/* ---- queues: under the mutex ------------------------------------------------ */

/* An event loop may wait for what another thread has read: see link_reader_fd. */
static void ring_or_hush(struct link_reader *self)
{
    uint64_t count = 1;
    if (self->queue[LINK_SHELL] || self->queue[LINK_COMM] || self->queue[LINK_URGENT]) {
        (void)!write(self->bell, &count, sizeof count);
    } else {
        (void)!read(self->bell, &count, sizeof count);
    }
}

/* Takes the first request of a kind, or the one with the number. -> NULL: none. */
static struct link_request *unfile(struct link_reader *self, enum link_request_kind kind,
                                   uint64_t number)
{
    for (struct link_request **p = &self->queue[kind]; *p != NULL; p = &(*p)->next) {
        struct link_request *request = *p;
        if (number == 0 || request->number == number) {
            *p = request->next;
            if (request->next == NULL) {
                self->queue_end[kind] = p;
            }
            request->next = NULL;
            ring_or_hush(self);
            return request;
        }
    }
    return NULL;
}

/* Was its answer given up? If so, it is no more: it comes once. */
static bool take_forgotten(struct link_reader *self, const struct link_request *request)
{
    for (size_t i = 0; request->kind == LINK_ANSWER && i < LINK_FORGOTTEN_MAX; i++) {
        if (self->forgotten[i] == request->number) {
            self->forgotten[i] = 0;
            return true;
        }
    }
    return false;
}

static void file_request(struct link_reader *self, struct link_request *request)
{
    if (take_forgotten(self, request)) {
        link_request_destroy(&request);
        return;
    }
    *self->queue_end[request->kind] = request;
    self->queue_end[request->kind] = &request->next;
    ring_or_hush(self);
}

/* ---- reading: by the thread that has the role ----------------------------------- */

/* -> bytes, -EAGAIN, LINK_ECLOSED, -errno. */
static ssize_t receive(struct link_reader *self, void *p, size_t n)
{
    ssize_t got;
    do {
        got = recv(self->fd, p, n, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
        return LINK_ECLOSED;
    }
    return got < 0 ? -errno : got;
}

static bool header_is_good(const struct link_request_header *header)
{
    return header->kind >= LINK_SHELL && header->kind < LINK_REQUEST_END && header->number != 0 &&
           header->length > 0 && header->length <= LINK_PAYLOAD_MAX;
}

/* -> 0: the header is whole and good, the errors of receive, LINK_ECORRUPT. */
static int read_header(struct link_reader *self)
{
    while (self->header_n < sizeof self->header) {
        ssize_t n = receive(self, (uint8_t *)&self->header + self->header_n,
                            sizeof self->header - self->header_n);
        if (n < 0) {
            return (int)n;
        }
        self->header_n += (size_t)n;
    }
    if (self->partial != NULL) {
        return 0;
    }
    if (!header_is_good(&self->header)) {
        return LINK_ECORRUPT;
    }
    size_t size = (size_t)self->header.length;
    self->partial = xmalloc(sizeof *self->partial + size);
    self->partial->next = NULL;
    self->partial->kind = (enum link_request_kind)self->header.kind;
    self->partial->count = self->header.count;
    self->partial->number = self->header.number;
    self->partial->size = size;
    self->payload_n = 0;
    return 0;
}

/* One whole request. -> 0, -EAGAIN, LINK_ECLOSED, LINK_ECORRUPT, -errno. */
static int read_request(struct link_reader *self, struct link_request **ret_request)
{
    int r = read_header(self);
    if (r != 0) {
        return r;
    }
    struct link_request *request = self->partial;
    while (self->payload_n < request->size) {
        ssize_t n =
            receive(self, request->payload + self->payload_n, request->size - self->payload_n);
        if (n < 0) {
            return (int)n;
        }
        self->payload_n += (size_t)n;
    }
    r = link_parts_read((struct slice){request->payload, request->size}, &request->parts);
    if (r != 0) {
        return r;
    }
    self->partial = NULL;
    self->header_n = 0;
    *ret_request = request;
    return 0;
}

/* Sleeps until there is something to read. -> 0, -EINTR. */
static int sleep_for_input(struct link_reader *self)
{
    struct pollfd fd = {.fd = self->fd, .events = POLLIN};
    return poll(&fd, 1, -1) < 0 && errno == EINTR ? -EINTR : 0;
}

/*
 * Reads one request, or what there is of it, and files it. The mutex is held
 * at the call and after it, not during the reading. -> 0, -EAGAIN, -EINTR.
 */
static int read_and_file(struct link_reader *self, bool may_sleep)
{
    struct link_request *request = NULL;
    self->reading = true;
    pthread_mutex_unlock(&self->mutex);
    int r = read_request(self, &request);
    if (r == -EAGAIN && may_sleep) {
        r = sleep_for_input(self);
    }
    pthread_mutex_lock(&self->mutex);
    self->reading = false;
    if (request != NULL) {
        file_request(self, request);
    }
    if (r != 0 && r != -EAGAIN && r != -EINTR) {
        self->end = r;
        r = 0;
    }
    atomic_fetch_add(&self->filed, 1);
    link_futex_wake(&self->filed);
    return r;
}

/* ---- what the worker's threads call ------------------------------------------ */

/* Under the mutex. -> 0, -EAGAIN, or why nothing will come. */
static int take(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                struct link_request **ret_request)
{
    struct link_request *request = unfile(self, kind, number);
    if (request == NULL) {
        return self->end != 0 ? self->end : -EAGAIN;
    }
    *ret_request = request;
    return 0;
}

int link_reader_poll(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     struct link_request **ret_request)
{
    pthread_mutex_lock(&self->mutex);
    int r = take(self, kind, number, ret_request);
    while (r == -EAGAIN && !self->reading && read_and_file(self, false) == 0) {
        r = take(self, kind, number, ret_request);
    }
    pthread_mutex_unlock(&self->mutex);
    return r;
}

int link_reader_wait(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     const struct link_wait *wait, struct link_request **ret_request)
{
    struct link_hold hold = {.wait = wait};
    int r = link_reader_poll(self, kind, number, ret_request);
    while (r == -EAGAIN) {
        int slept = 0;
        link_hold_release(&hold);
        pthread_mutex_lock(&self->mutex);
        r = take(self, kind, number, ret_request);
        if (r == -EAGAIN && !self->reading) {
            slept = read_and_file(self, true);
            pthread_mutex_unlock(&self->mutex);
        } else {
            uint32_t seen = atomic_load(&self->filed);
            pthread_mutex_unlock(&self->mutex);
            slept = r == -EAGAIN ? link_futex_wait(&self->filed, seen) : 0;
        }
        if (slept == -EINTR && link_hold_resume(&hold, true) != 0) {
            return LINK_EINTERRUPTED;
        }
    }
    (void)link_hold_resume(&hold, false);
    return r;
}

void link_reader_forget(struct link_reader *self, uint64_t number)
{
    pthread_mutex_lock(&self->mutex);
    struct link_request *request = unfile(self, LINK_ANSWER, number);
    if (request == NULL) {
        self->forgotten[self->forgotten_next] = number;
        self->forgotten_next = (self->forgotten_next + 1) % LINK_FORGOTTEN_MAX;
    }
    pthread_mutex_unlock(&self->mutex);
    link_request_destroy(&request);
}
