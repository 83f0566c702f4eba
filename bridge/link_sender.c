/*
 * Requests on their way to the worker. The kernel never waits for a worker:
 * what the socket does not take stays in one queue of bytes, and is sent in
 * writes as large as the socket takes. Runs in the kernel's loop. Owns the
 * queue, not the fd.
 */

#include <errno.h>
#include <sys/socket.h>

#include "bridge/check.h"
#include "bridge/link_parts.h"

enum { SIZE_KEPT = 1 << 20 }; /* bytes that stay allocated when the queue is empty */

void link_sender_init(struct link_sender *self, int fd)
{
    *self = (struct link_sender){.fd = fd, .bytes = BUFFER_INIT};
}

void link_sender_release(struct link_sender *self)
{
    buffer_release(&self->bytes);
    self->start = 0;
}

size_t link_sender_queued(const struct link_sender *self)
{
    return self->bytes.n - self->start;
}

int link_sender_put(struct link_sender *self, enum link_request_kind kind, uint32_t count,
                    uint64_t number, const struct slice *part, size_t parts)
{
    struct link_frame frame;
    struct link_request_header header = {.kind = kind, .count = count, .number = number};
    CHECK(number != 0 && !self->closing);
    int r = link_frame_init(&frame, part, parts, &header.length);
    if (r != 0) {
        return r;
    }
    /* What is sent goes once it is the larger part, so each byte moves once or so. */
    if (self->start > self->bytes.n / 2) {
        buffer_drop_front(&self->bytes, self->start);
        self->start = 0;
    }
    buffer_reserve(&self->bytes, sizeof header + (size_t)header.length);
    buffer_put(&self->bytes, &header, sizeof header);
    buffer_put_slice(&self->bytes, link_frame_slice(&frame));
    for (size_t i = 0; i < parts; i++) {
        buffer_put_slice(&self->bytes, part[i]);
    }
    return link_sender_flush(self);
}

/* The socket has taken everything. */
static void emptied(struct link_sender *self)
{
    self->start = 0;
    buffer_clear(&self->bytes);
    if (self->bytes.size > SIZE_KEPT) {
        buffer_release(&self->bytes);
    }
    if (self->closing) {
        (void)shutdown(self->fd, SHUT_WR);
    }
}

int link_sender_flush(struct link_sender *self)
{
    while (link_sender_queued(self) > 0) {
        ssize_t n = send(self->fd, self->bytes.p + self->start, link_sender_queued(self),
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return -EPIPE;
        }
        self->start += n > 0 ? (size_t)n : 0;
    }
    emptied(self);
    return 0;
}

void link_sender_close(struct link_sender *self)
{
    self->closing = true;
    (void)link_sender_flush(self); /* a worker that is gone needs no end */
}
