/*
 * Requests on their way to the worker. The kernel never waits for a worker:
 * what the socket does not take stays in one queue of bytes, and is sent in
 * writes as large as the socket takes. A large request would fill the socket
 * again and again, so it goes by the area or as a memfd; the queue knows bytes
 * only, so that is done at once or not at all. Runs in the kernel's loop. Owns the
 * queue, not the fd.
 */

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/link_outgoing.h"
#include "bridge/link_parts.h"
#include "bridge/link_passing.h"

enum { SIZE_KEPT = 1 << 20 }; /* bytes that stay allocated when the queue is empty */

void link_sender_init(struct link_sender *self, const struct link_consumer *door)
{
    *self = (struct link_sender){.fd = door->request, .memory = door->memory, .bytes = BUFFER_INIT};
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

/* The longest part is the one that is worth using where it lies. */
static size_t longest(const struct slice *part, size_t parts)
{
    size_t found = 0;
    for (size_t i = 1; i < parts; i++) {
        if (part[i].n > part[found].n) {
            found = i;
        }
    }
    return found;
}

/* Sends a request by the area, if it is free. -> 0, -errno: it cannot be done now. */
static int put_in_area(struct link_sender *self, struct link_request_header header,
                       struct link_outgoing out)
{
    const struct link_memory *memory = &self->memory;
    if (link_sender_queued(self) > 0 || header.length > LINK_AREA_SIZE || memory->page == NULL ||
        atomic_load(&memory->page->area_taken) != self->area_placed) {
        return -EAGAIN;
    }
    link_outgoing_copy(&out, memory->area, (size_t)header.length);
    header.kind |= LINK_AREA;
    ssize_t n = send(self->fd, &header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n != (ssize_t)sizeof header) { /* so few bytes go whole or not at all */
        return n < 0 ? -errno : -EIO;
    }
    self->area_placed++;
    return 0;
}

/* Sends a request as a memfd. -> 0, -errno: it cannot be done now. */
static int put_large(struct link_sender *self, struct link_request_header header,
                     const struct link_outgoing *out)
{
    if (link_sender_queued(self) > 0) {
        return -EAGAIN;
    }
    int memfd = link_outgoing_memfd(out);
    if (memfd < 0) {
        return memfd;
    }
    header.kind |= LINK_LARGE;
    int r =
        link_passing_send(self->fd, memfd, (struct slice){(const uint8_t *)&header, sizeof header});
    close(memfd);
    return r;
}

/* Puts a request on its way, whichever is the cheapest. */
static int put(struct link_sender *self, enum link_request_kind kind, uint32_t count,
               uint64_t number, const struct slice *part, size_t parts)
{
    struct link_frame frame;
    struct link_request_header header = {.kind = kind, .count = count, .number = number};
    CHECK(number != 0 && !self->closing);
    int r = link_frame_init(&frame, part, parts, &header.length);
    if (r != 0) {
        return r;
    }
    bool large = header.length > LINK_STREAM_MAX;
    if (large) {
        header.length += link_frame_align(&frame, longest(part, parts));
    }
    const struct link_outgoing out = {
        .head = link_frame_slice(&frame), .part = part, .count = parts};
    if (large && (put_in_area(self, header, out) == 0 || put_large(self, header, &out) == 0)) {
        return 0;
    }
    /* What is sent goes once it is the larger part, so each byte moves once or so. */
    if (self->start > self->bytes.n / 2) {
        buffer_drop_front(&self->bytes, self->start);
        self->start = 0;
    }
    buffer_reserve(&self->bytes, sizeof header + (size_t)header.length);
    buffer_put(&self->bytes, &header, sizeof header);
    buffer_put_slice(&self->bytes, out.head);
    for (size_t i = 0; i < parts; i++) {
        buffer_put_slice(&self->bytes, part[i]);
    }
    return link_sender_flush(self);
}

int link_sender_put(struct link_sender *self, enum link_request_kind kind, uint32_t count,
                    uint64_t number, const struct slice *part, size_t parts)
{
    int r = put(self, kind, count, number, part, parts);
    if (r == 0 && kind == LINK_COMM && self->memory.page != NULL) {
        atomic_store(&self->memory.page->comm_last, number);
    }
    return r;
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
