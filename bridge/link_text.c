/*
 * What the worker's fd 1 and fd 2 wrote, read by the kernel. Each read happens
 * under the sequence counter in the page, with the new position published
 * before the counter is even again: that is what the worker's look at the
 * pipes relies on. Owns the bytes that are read and not handed out.
 */

#include "bridge/link_consumer.h"

#include <errno.h>
#include <unistd.h>

enum { ROUND_MAX = 256 << 10 };

/* One read of at most n bytes. -> bytes, 0: none wait, or the end. */
static size_t read_pipe(struct link_consumer *self, size_t i, size_t n)
{
    struct link_page *page = self->memory.page;
    struct buffer *bytes = &self->text[i].bytes;
    buffer_reserve(bytes, n);
    ssize_t got;
    atomic_fetch_add(&page->pipe_sequence, 1);
    do {
        got = read(self->pipe[i], bytes->p + bytes->n, n);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        self->taken[i] += (uint64_t)got;
        atomic_store(&page->pipe_taken[i], self->taken[i]);
    }
    atomic_fetch_add(&page->pipe_sequence, 1);
    if (got <= 0) {
        self->text[i].ended = got == 0 || errno != EAGAIN;
        return 0;
    }
    bytes->n += (size_t)got;
    return (size_t)got;
}

void link_text_fill(struct link_consumer *self)
{
    for (size_t i = 0; i < 2; i++) {
        buffer_drop_front(&self->text[i].bytes, self->text[i].start);
        self->text[i].start = 0;
        size_t sum = 0;
        size_t n = LINK_TEXT_ITEM_MAX;
        /* A short read emptied the pipe. */
        while (!self->text[i].ended && n == LINK_TEXT_ITEM_MAX && sum < ROUND_MAX) {
            n = read_pipe(self, i, LINK_TEXT_ITEM_MAX);
            sum += n;
        }
    }
}

static size_t unread(const struct link_consumer *self, size_t i)
{
    return self->text[i].bytes.n - self->text[i].start;
}

/* Hands out at most `most` of the bytes that are there. */
static void hand_out(struct link_consumer *self, size_t i, uint64_t most,
                     struct link_item *ret_item)
{
    size_t n = unread(self, i);
    n = n < LINK_TEXT_ITEM_MAX ? n : LINK_TEXT_ITEM_MAX;
    n = n < most ? n : (size_t)most;
    *ret_item = (struct link_item){.kind = LINK_STREAM,
                                   .from_pipe = true,
                                   .is_stderr = i == 1,
                                   .payload = {self->text[i].bytes.p + self->text[i].start, n}};
    self->text[i].start += n;
}

bool link_text_below_sync(struct link_consumer *self, struct link_item *ret_item)
{
    for (size_t i = 0; i < 2; i++) {
        uint64_t out = self->taken[i] - unread(self, i);
        if (out >= self->sync.position[i]) {
            continue;
        }
        uint64_t want = self->sync.position[i] - out;
        if (unread(self, i) == 0 && !self->text[i].ended) {
            buffer_clear(&self->text[i].bytes);
            self->text[i].start = 0;
            /* Not a byte more: what lies above may belong behind later records. */
            read_pipe(self, i, want < LINK_TEXT_ITEM_MAX ? (size_t)want : LINK_TEXT_ITEM_MAX);
        }
        if (unread(self, i) > 0) {
            hand_out(self, i, want, ret_item);
            return true;
        }
    }
    return false;
}

bool link_text_rest(struct link_consumer *self, struct link_item *ret_item)
{
    for (size_t i = 0; i < 2; i++) {
        if (unread(self, i) > 0) {
            hand_out(self, i, UINT64_MAX, ret_item);
            return true;
        }
    }
    return false;
}
