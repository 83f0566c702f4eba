/*
 * The kernel's end of the door: making both ends, and the rounds in which the
 * ring and the pipes are merged. A round reads the pipes first and loads head
 * after that, so what a thread of the worker wrote into a pipe after a record
 * can never be handed out before it; the other direction is what SYNC is for.
 * Runs in the kernel's loop only. Owns the mapping, its fds, what was read.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/link_consumer.h"

enum { SIZE_KEPT = 1 << 20 }; /* bytes that stay allocated between payloads */

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : -errno;
}

/* Read end without blocking; the write end blocks, as stdio expects. */
static int make_pipe(int *ret_read, int *ret_write)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -errno;
    }
    *ret_read = fds[0];
    *ret_write = fds[1];
    return set_nonblocking(fds[0]);
}

/*
 * A dying worker writes its last words here, and nobody reads them before it is
 * dead: so the pipe is large (all threads that faulthandler shows, with all
 * their frames, are 600 KB), and beyond that words are lost, not the end.
 */
static int make_side_pipe(int *ret_read, int *ret_write)
{
    enum { SIDE_ROOM = 1 << 20 }; /* a pipe of this size costs what is in it */
    int r = make_pipe(ret_read, ret_write);
    if (r == 0) {
        (void)fcntl(*ret_write, F_SETPIPE_SZ, SIDE_ROOM); /* refused: 64 KiB have to do */
        r = set_nonblocking(*ret_write);
    }
    return r;
}

/* All fds of both ends; what was made is in the structs, also on failure. */
static int make_fds(struct link_consumer *self, struct link_fds *fds, int stdio[2])
{
    int pair[2];
    int r = link_memory_create(&fds->memory);
    if (r != 0) {
        return r;
    }
    self->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fds->bell = self->bell >= 0 ? dup(self->bell) : -1;
    self->spare = self->bell >= 0 ? fcntl(self->bell, F_DUPFD_CLOEXEC, 0) : -1;
    if (fds->bell < 0 || self->spare < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return -errno;
    }
    self->request = pair[0];
    fds->request = pair[1];
    r = set_nonblocking(self->request);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        r = make_pipe(&self->pipe[i], &stdio[i]);
        if (r == 0) {
            fds->pipe[i] = dup(self->pipe[i]);
            r = fds->pipe[i] < 0 ? -errno : 0;
        }
    }
    if (r == 0) {
        r = make_side_pipe(&self->side, &fds->side);
    }
    const int inherited[] = {fds->memory, fds->request, fds->side}; /* dups are so by birth */
    for (size_t i = 0; r == 0 && i < sizeof inherited / sizeof inherited[0]; i++) {
        r = fcntl(inherited[i], F_SETFD, 0) == 0 ? 0 : -errno;
    }
    return r;
}

int link_consumer_init(struct link_consumer *self, struct link_fds *ret_fds, int ret_stdio[2])
{
    struct link_fds fds = {-1, -1, -1, {-1, -1}, -1};
    int stdio[2] = {-1, -1};
    *self = (struct link_consumer){
        .bell = -1, .request = -1, .pipe = {-1, -1}, .side = -1, .spare = -1};
    int r = make_fds(self, &fds, stdio);
    if (r == 0) {
        r = link_memory_map(fds.memory, &self->memory);
    }
    if (r != 0) {
        link_consumer_release(self);
        link_fds_close(&fds);
        for (size_t i = 0; i < 2; i++) {
            if (stdio[i] >= 0) {
                close(stdio[i]);
            }
        }
        return r;
    }
    atomic_store(&self->memory.page->attention, LINK_ASLEEP);
    *ret_fds = fds;
    ret_stdio[0] = stdio[0];
    ret_stdio[1] = stdio[1];
    return 0;
}

void link_consumer_release(struct link_consumer *self)
{
    link_mapping_unref(self->mapping);
    self->mapping = NULL;
    link_memory_release(&self->memory);
    int *const all[] = {&self->bell,    &self->request, &self->pipe[0],
                        &self->pipe[1], &self->side,    &self->spare};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (*all[i] >= 0) {
            close(*all[i]);
        }
        *all[i] = -1;
    }
    buffer_release(&self->text[0].bytes);
    buffer_release(&self->text[1].bytes);
    buffer_release(&self->joined);
}

void link_consumer_hush(struct link_consumer *self)
{
    uint64_t rings;
    ssize_t n;
    do {
        n = read(self->bell, &rings, sizeof rings);
    } while (n < 0 && errno == EINTR);
}

/* The last item is done with: what it lay in is given back. */
static void finish_item(struct link_consumer *self)
{
    if (self->next_tail != self->tail) {
        link_records_free(self, self->next_tail);
    }
    link_mapping_unref(self->mapping);
    self->mapping = NULL;
    if (!self->joining && self->joined.size > SIZE_KEPT) {
        buffer_release(&self->joined);
    }
}

void link_consumer_begin(struct link_consumer *self)
{
    struct link_page *page = self->memory.page;
    finish_item(self);
    link_consumer_wake(self);
    link_text_fill(self);
    uint64_t head = atomic_load(&page->head);
    if (head - self->tail > LINK_RING_SIZE || head - self->tail < self->head - self->tail ||
        head % LINK_ALIGN != 0) {
        self->corrupt = true;
        return;
    }
    self->head = head;
}

int link_consumer_next(struct link_consumer *self, struct link_item *ret_item)
{
    finish_item(self);
    while (!self->corrupt) {
        if (self->syncing) {
            if (link_text_below_sync(self, ret_item)) {
                return 1;
            }
            self->syncing = false;
        }
        if (self->tail == self->head) {
            return link_text_rest(self, ret_item) ? 1 : 0;
        }
        int r = link_records_take(self, ret_item);
        if (r > 0) {
            return 1;
        }
        self->corrupt = r < 0;
    }
    return LINK_ECORRUPT;
}

void link_consumer_wake(struct link_consumer *self)
{
    atomic_store(&self->memory.page->attention, LINK_AWAKE);
}

bool link_consumer_has_news(const struct link_consumer *self)
{
    return !self->corrupt && atomic_load(&self->memory.page->head) != self->head;
}

bool link_consumer_rest(struct link_consumer *self, enum link_attention attention)
{
    struct link_page *page = self->memory.page;
    atomic_store(&page->attention, (uint32_t)attention);
    if (!link_consumer_has_news(self)) {
        return true;
    }
    atomic_store(&page->attention, LINK_AWAKE);
    return false;
}
