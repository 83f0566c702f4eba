/*
 * The reader of libeinkorn-host: what a worker can do to the host's memory ends
 * here. No byte is looked at twice, and what has been handed out is moved over
 * when more than half of the room is old. One thread. Owns its bytes.
 */

#include "kernel/host_lines.h"

#include <errno.h>
#include <string.h>

enum { KEPT = 1024 * 1024 }; /* room that stays after a long line */

void host_lines_init(struct host_lines *self, size_t limit)
{
    *self = (struct host_lines){.bytes = BUFFER_INIT, .limit = limit};
}

void host_lines_release(struct host_lines *self)
{
    buffer_release(&self->bytes);
    self->taken = self->scanned = 0;
}

size_t host_lines_waiting(const struct host_lines *self)
{
    return self->bytes.n - self->taken;
}

uint8_t *host_lines_room(struct host_lines *self, size_t n)
{
    if (self->taken == self->bytes.n) {
        if (self->bytes.size > KEPT) {
            buffer_release(&self->bytes);
        }
        buffer_clear(&self->bytes);
        self->taken = self->scanned = 0;
    } else if (self->taken > self->bytes.n / 2) {
        buffer_drop_front(&self->bytes, self->taken);
        self->scanned -= self->taken;
        self->taken = 0;
    }
    buffer_reserve(&self->bytes, n);
    return self->bytes.p + self->bytes.n;
}

void host_lines_added(struct host_lines *self, size_t n)
{
    self->bytes.n += n;
}

int host_lines_next(struct host_lines *self, struct slice *ret_line)
{
    const uint8_t *newline = NULL, *start;
    size_t n;

    if (host_lines_waiting(self) == 0) {
        return 0;
    }
    start = self->bytes.p + self->taken;
    if (self->bytes.n > self->scanned) {
        newline = memchr(self->bytes.p + self->scanned, '\n', self->bytes.n - self->scanned);
    }
    n = newline ? (size_t)(newline - start) : host_lines_waiting(self);
    if (n > self->limit) {
        return -EMSGSIZE;
    }
    if (!newline) {
        self->scanned = self->bytes.n;
        return 0;
    }
    self->taken += n + 1;
    self->scanned = self->taken;
    *ret_line = (struct slice){start, n};
    return 1;
}
