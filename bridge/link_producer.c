/*
 * The worker's end of the ring. Any thread of the worker may write; the bytes
 * of a record are put in place under the lock and shown by one store of head,
 * so a worker that dies at any instruction has said exactly what it had said.
 *
 * Rules of waiting: the lock is taken by trylock with the GIL held, or by
 * waiting with the GIL released; whoever holds it never waits for the GIL. No
 * Python code runs while a thread holds it, so no finalizer or signal's Python
 * handler can come back here on the same thread. Owns the mapping and the fds.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridge/link_futex.h"
#include "bridge/link_outgoing.h"
#include "bridge/link_parts.h"
#include "bridge/link_passing.h"

/* What a record of n bytes takes in the ring. */
static uint64_t room_of(uint64_t n)
{
    return (sizeof(struct link_record) + n + LINK_ALIGN - 1) & ~(uint64_t)(LINK_ALIGN - 1);
}

/*
 * A word that is 1 here and that a fork wipes in the child: to ask getpid
 * costs several times what the rest of a small write does. -> NULL: the system
 * has no such thing, getpid is asked.
 */
static _Atomic uint32_t *make_mark(void)
{
    const size_t n = sizeof(_Atomic uint32_t);
    _Atomic uint32_t *mark =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mark == MAP_FAILED) {
        return NULL;
    }
    if (madvise(mark, n, MADV_WIPEONFORK) != 0) {
        munmap(mark, n);
        return NULL;
    }
    atomic_store(mark, 1);
    return mark;
}

int link_producer_init(struct link_producer *self, const struct link_fds *fds)
{
    struct link_memory memory;
    int r = link_memory_map(fds->memory, &memory);
    if (r != 0) {
        return r;
    }
    r = link_memory_hide_from_forks(&memory);
    const int all[] = {fds->memory, fds->bell, fds->request, fds->pipe[0], fds->pipe[1], fds->side};
    for (size_t i = 0; r == 0 && i < sizeof all / sizeof all[0]; i++) {
        r = fcntl(all[i], F_SETFD, FD_CLOEXEC) == 0 ? 0 : -errno;
    }
    int watch = r == 0 ? link_pipes_watch(fds->pipe) : r;
    if (watch < 0) {
        link_memory_release(&memory);
        return watch;
    }
    *self = (struct link_producer){.memory = memory,
                                   .fds = *fds,
                                   .watch = watch,
                                   .head = atomic_load(&memory.page->head),
                                   .tail = atomic_load(&memory.page->tail),
                                   .owner = getpid(),
                                   .mark = make_mark()};
    return 0;
}

void link_producer_release(struct link_producer *self)
{
    if (link_producer_is_ours(self)) {
        link_memory_release(&self->memory);
        link_fds_close(&self->fds);
        close(self->watch);
        if (self->mark != NULL) {
            munmap(self->mark, sizeof *self->mark);
            self->mark = NULL;
        }
    }
}

bool link_producer_is_ours(const struct link_producer *self)
{
    return self->mark != NULL ? atomic_load(self->mark) != 0 : self->owner == getpid();
}

/* Wakes the kernel unless it is awake. */
static void ring_bell(struct link_producer *self)
{
    const uint64_t one = 1;
    if (atomic_exchange(&self->memory.page->attention, LINK_AWAKE) != LINK_AWAKE) {
        ssize_t n;
        do {
            n = write(self->fds.bell, &one, sizeof one);
        } while (n < 0 && errno == EINTR);
    }
}

/* For the milliseconds that the kernel dozes: output, of which more may come at once. */
static bool can_wait(uint32_t kind)
{
    uint32_t what = kind & LINK_KIND_MASK;
    return what == LINK_STREAM || what == LINK_PUBLISH;
}

/*
 * Shows everything up to head. The order matters: the kernel says what it will
 * do and then looks at head; we move head and then look at what it will do.
 */
static void publish(struct link_producer *self, uint32_t kind)
{
    struct link_page *page = self->memory.page;
    atomic_store(&page->head, self->head);
    uint32_t attention = atomic_load(&page->attention);
    if (attention == LINK_ASLEEP || (attention == LINK_DOZING && !can_wait(kind))) {
        ring_bell(self);
    }
}

static bool has_room(struct link_producer *self, uint64_t need)
{
    if (LINK_RING_SIZE - (self->head - self->tail) < need) {
        self->tail = atomic_load(&self->memory.page->tail);
    }
    return LINK_RING_SIZE - (self->head - self->tail) >= need;
}

/* Waits until the kernel has made room. -> 0, -EINTR. */
static int wait_for_room(struct link_producer *self, uint64_t need, struct link_hold *hold)
{
    struct link_page *page = self->memory.page;
    int r = 0;
    while (r == 0 && !has_room(self, need)) {
        link_hold_release(hold);
        uint32_t seen = atomic_load(&page->tail_changes);
        atomic_store(&page->producer_waits, 1);
        if (!has_room(self, need)) {
            ring_bell(self); /* it may doze over a full ring */
            r = link_futex_wait(&page->tail_changes, seen);
        }
        atomic_store(&page->producer_waits, 0);
    }
    return r;
}

/* Starts a record of n bytes. -> where they go. Shown by publish. */
static uint8_t *put_record(struct link_producer *self, uint32_t kind, uint64_t request, uint32_t n)
{
    uint8_t *p = self->memory.ring + (self->head & (LINK_RING_SIZE - 1));
    const struct link_record record = {.kind = kind, .length = n, .request = request};
    memcpy(p, &record, sizeof record);
    self->head += room_of(n);
    return p + sizeof record;
}

/* Says how far the pipes stand, if they moved since it was said last. */
static void put_sync(struct link_producer *self, const struct link_outgoing *out)
{
    struct link_sync sync;
    link_pipes_look(self->memory.page, self->watch, self->fds.pipe, sync.position);
    if (out->kind == LINK_DONE || sync.position[0] != self->synced[0] ||
        sync.position[1] != self->synced[1]) {
        memcpy(put_record(self, LINK_SYNC, out->request, sizeof sync), &sync, sizeof sync);
        memcpy(self->synced, sync.position, sizeof sync.position);
    }
}

/* A memfd goes to the kernel with the serial of its record. -> was it taken? */
static bool send_memfd(const struct link_producer *self, int memfd, uint64_t serial)
{
    const struct slice bytes = {(const uint8_t *)&serial, sizeof serial};
    return memfd >= 0 && link_passing_send(self->fds.request, memfd, bytes) == 0;
}

/* Under the lock. -> 0, -EINTR: nothing of it was written. */
static int write_records(struct link_producer *self, struct link_outgoing *out, int memfd,
                         struct link_hold *hold)
{
    uint64_t left = out->size;
    uint64_t now = left < LINK_RECORD_MAX ? left : LINK_RECORD_MAX;
    int r = wait_for_room(self, room_of(sizeof(struct link_sync)) + room_of(now), hold);
    if (r != 0) {
        return r;
    }
    put_sync(self, out);
    if (send_memfd(self, memfd, self->large_serial + 1)) {
        const struct link_large large = {.serial = ++self->large_serial, .size = out->size};
        memcpy(put_record(self, out->kind | LINK_LARGE, out->request, sizeof large), &large,
               sizeof large);
        publish(self, out->kind);
        return 0;
    }
    for (;;) {
        uint32_t more = left > now ? LINK_MORE : 0;
        link_outgoing_copy(out, put_record(self, out->kind | more, out->request, (uint32_t)now),
                           (size_t)now);
        publish(self, out->kind);
        left -= now;
        if (left == 0) {
            return 0;
        }
        now = left < LINK_RECORD_MAX ? left : LINK_RECORD_MAX;
        while (wait_for_room(self, room_of(now), hold) != 0) {
            /* What was begun is finished: a signal is heard after it. */
        }
    }
}

static int write_payload(struct link_producer *self, struct link_outgoing *out,
                         const struct link_wait *wait)
{
    struct link_hold hold = {.wait = wait};
    int memfd = -1;
    int r;
    if (!link_producer_is_ours(self)) {
        return LINK_EFORKED;
    }
    if (out->size > LINK_RECORD_MAX) {
        link_hold_release(&hold);
        memfd = link_outgoing_memfd(out);
    }
    for (;;) {
        r = 0;
        if (!link_lock_try(&self->lock)) {
            link_hold_release(&hold);
            r = link_lock_wait(&self->lock);
        }
        if (r == 0) {
            r = write_records(self, out, memfd, &hold);
            link_lock_release(&self->lock);
        }
        if (r != -EINTR) {
            break;
        }
        if (link_hold_resume(&hold, true) != 0) {
            r = LINK_EINTERRUPTED;
            break;
        }
    }
    if (memfd >= 0) {
        close(memfd);
    }
    (void)link_hold_resume(&hold, false);
    return r;
}

int link_producer_write(struct link_producer *self, uint32_t kind, uint64_t request,
                        const struct slice *part, size_t count, const struct link_wait *wait)
{
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (part[i].n > LINK_PAYLOAD_MAX - size) {
            return -EMSGSIZE;
        }
        size += part[i].n;
    }
    struct link_outgoing out = {
        .kind = kind, .request = request, .size = size, .part = part, .count = count};
    return write_payload(self, &out, wait);
}

int link_producer_write_parts(struct link_producer *self, uint32_t kind, uint64_t request,
                              const struct slice *part, size_t count, const struct link_wait *wait)
{
    struct link_frame frame;
    uint64_t size;
    int r = link_frame_init(&frame, part, count, &size);
    if (r != 0) {
        return r;
    }
    struct link_outgoing out = {.kind = kind,
                                .request = request,
                                .size = size,
                                .head = link_frame_slice(&frame),
                                .part = part,
                                .count = count};
    return write_payload(self, &out, wait);
}
