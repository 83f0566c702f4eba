/*
 * The worker's reader of requests. There is no thread for it: whoever waits
 * for something, the main thread between cells, an input() in any thread, the
 * service thread, takes the role of the reader and files what comes; the
 * others sleep until something was filed or the role is free. No thread holds
 * the mutex longer than a few instructions, and none sleeps with the GIL.
 * How a request comes off the socket is in link_incoming.c.
 * Owns the requests until they are handed out, not the fd.
 */

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bridge/link_futex.h"
#include "bridge/link_incoming.h"

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

int link_reader_init(struct link_reader *self, const struct link_producer *door)
{
    int fd = door->fds.request;
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int watch = bell >= 0 ? watch_both(fd, bell) : -errno;
    if (watch < 0) {
        if (bell >= 0) {
            close(bell);
        }
        return watch;
    }
    *self = (struct link_reader){
        .fd = fd, .memory = door->memory, .bell = bell, .watch = watch, .memfd = -1};
    for (size_t i = 0; i < LINK_REQUEST_END; i++) {
        self->queue_end[i] = &self->queue[i];
    }
    return -pthread_mutex_init(&self->mutex, NULL);
}

int link_reader_fd(const struct link_reader *self)
{
    return self->watch;
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
    link_incoming_release(self);
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
    if (kind == LINK_NEXT) {
        kind = self->queue[LINK_COMM] != NULL ? LINK_COMM : LINK_SHELL;
    }
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

/* ---- waiting: under the mutex, but for the waiting itself ------------------------ */

/* What a thread waits for; number 0: any of the kind. */
struct wanted {
    enum link_request_kind kind;
    uint64_t number;
};

enum { LOOK_AGAIN = 1 }; /* something was filed, or the end came */

/* -> 0, -EAGAIN, or why nothing will come. */
static int take(struct link_reader *self, struct wanted wanted, struct link_request **ret_request)
{
    struct link_request *request = unfile(self, wanted.kind, wanted.number);
    if (request == NULL) {
        return self->end != 0 ? self->end : -EAGAIN;
    }
    *ret_request = request;
    return 0;
}

static int sleep_for_input(const struct link_reader *self)
{
    struct pollfd fd = {.fd = self->fd, .events = POLLIN};
    return poll(&fd, 1, -1) < 0 && errno == EINTR ? -EINTR : LOOK_AGAIN;
}

static bool is_wanted(struct wanted wanted, const struct link_request *request)
{
    bool kind = wanted.kind == LINK_NEXT ? request->kind == LINK_SHELL || request->kind == LINK_COMM
                                         : request->kind == wanted.kind;
    return kind && (wanted.number == 0 || wanted.number == request->number);
}

/* Reads what there is, up to one request. The one that is wanted does not go by the queues. */
static int read_one(struct link_reader *self, struct wanted wanted, bool may_sleep,
                    struct link_request **ret_request)
{
    struct link_request *request = NULL;
    self->reading = true;
    pthread_mutex_unlock(&self->mutex);
    int r = link_incoming_read(self, &request);
    if (r == -EAGAIN && may_sleep) {
        r = sleep_for_input(self);
    }
    pthread_mutex_lock(&self->mutex);
    self->reading = false;
    if (request != NULL && is_wanted(wanted, request)) {
        *ret_request = request;
    } else if (request != NULL) {
        file_request(self, request);
        r = LOOK_AGAIN;
    } else if (r != LOOK_AGAIN && r != -EAGAIN && r != -EINTR) {
        self->end = r;
        r = LOOK_AGAIN;
    }
    atomic_fetch_add(&self->filed, 1);
    if (self->sleepers > 0) {
        link_futex_wake(&self->filed);
    }
    return r;
}

/* Another thread reads: sleeps until it has filed something or reads no more. */
static int sleep_for_reader(struct link_reader *self)
{
    uint32_t seen = atomic_load(&self->filed);
    self->sleepers++;
    pthread_mutex_unlock(&self->mutex);
    int r = link_futex_wait(&self->filed, seen);
    pthread_mutex_lock(&self->mutex);
    self->sleepers--;
    return r == -EINTR ? r : LOOK_AGAIN;
}

/* ---- what the worker's threads call ------------------------------------------ */

int link_reader_poll(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     struct link_request **ret_request)
{
    const struct wanted wanted = {kind, number};
    int r = LOOK_AGAIN;
    pthread_mutex_lock(&self->mutex);
    while (r == LOOK_AGAIN) {
        r = take(self, wanted, ret_request);
        if (r == -EAGAIN && !self->reading) {
            r = read_one(self, wanted, false, ret_request);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return r;
}

int link_reader_wait(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     const struct link_wait *wait, struct link_request **ret_request)
{
    const struct wanted wanted = {kind, number};
    struct link_hold hold = {.wait = wait};
    int r = LOOK_AGAIN;
    while (r == LOOK_AGAIN) {
        link_hold_release(&hold);
        pthread_mutex_lock(&self->mutex);
        r = take(self, wanted, ret_request);
        if (r == -EAGAIN) {
            r = self->reading ? sleep_for_reader(self) : read_one(self, wanted, true, ret_request);
        }
        pthread_mutex_unlock(&self->mutex);
        if (r == -EINTR) {
            r = link_hold_resume(&hold, true) != 0 ? LINK_EINTERRUPTED : LOOK_AGAIN;
        }
    }
    (void)link_hold_resume(&hold, false);
    return r;
}

bool link_reader_has_ended(struct link_reader *self)
{
    const struct wanted nothing = {LINK_REQUEST_END, 0};
    struct link_request *none = NULL;
    pthread_mutex_lock(&self->mutex);
    while (self->end == 0 && !self->reading &&
           read_one(self, nothing, false, &none) == LOOK_AGAIN) {
    }
    bool ended = self->end != 0;
    pthread_mutex_unlock(&self->mutex);
    return ended;
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
