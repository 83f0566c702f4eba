/*
 * One request off the socket, in as many reads as it takes: header, then the payload, which
 * follows it, lies in the area, or is a memfd that came along. Worker, the thread that has
 * the reader's role, without the mutex. Owns the request that is half there, and its memfd;
 * both are fields of the reader, for the next thread that has the role goes on with them.
 *
 * A header is judged before it is believed. After a breach nothing can be read any more, for
 * nobody knows where the next request begins.
 */

#include "bridge/link_incoming.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/link_mapping.h"
#include "bridge/link_passing.h"
#include "bridge/xalloc.h"

void link_request_destroy(struct link_request **self_p)
{
    struct link_request *self = *self_p;
    *self_p = NULL;
    if (self != NULL) {
        link_mapping_unref(self->mapping);
        free(self);
    }
}

static void drop_memfd(struct link_reader *self)
{
    if (self->memfd >= 0) {
        close(self->memfd);
    }
    self->memfd = -1;
}

/* One memfd for a request, and with it; a second one is a breach. */
static void keep_memfd(struct link_reader *self, int memfd)
{
    if (self->memfd == -1) {
        self->memfd = memfd;
    } else if (memfd != -1) {
        drop_memfd(self);
        self->memfd = LINK_ECORRUPT;
        if (memfd >= 0) {
            close(memfd);
        }
    }
}

/* -> bytes, -EAGAIN, LINK_ECLOSED, -errno. */
static ssize_t receive(struct link_reader *self, void *p, size_t n)
{
    int memfd = -1;
    ssize_t got;
    do {
        got = link_passing_receive(self->fd, p, n, MSG_DONTWAIT, &memfd);
    } while (got == -EINTR);
    keep_memfd(self, memfd);
    return got == 0 || got == -ECONNRESET ? LINK_ECLOSED : got;
}

static bool header_is_good(const struct link_request_header *header)
{
    const uint32_t kind = header->kind & ~(uint32_t)(LINK_LARGE | LINK_AREA);
    const bool in_area = (header->kind & LINK_AREA) != 0;
    return !(in_area && ((header->kind & LINK_LARGE) != 0 || header->length > LINK_AREA_SIZE)) &&
           kind >= LINK_SHELL && kind < LINK_REQUEST_END && header->number != 0 &&
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
    bool elsewhere = (self->header.kind & (LINK_LARGE | LINK_AREA)) != 0;
    size_t size = elsewhere ? 0 : (size_t)self->header.length;
    self->partial = xmalloc(sizeof *self->partial + size);
    self->partial->next = NULL;
    self->partial->kind =
        (enum link_request_kind)(self->header.kind & ~(uint32_t)(LINK_LARGE | LINK_AREA));
    self->partial->count = self->header.count;
    self->partial->number = self->header.number;
    self->partial->error = 0;
    self->partial->mapping = NULL;
    self->partial->size = size;
    self->payload_n = 0;
    return 0;
}

/* Finds the parts in the memfd of a large request, or notes why they cannot be had. */
static int read_memfd(struct link_reader *self, struct link_request *request)
{
    int r = self->memfd == -1 ? LINK_ECORRUPT : self->memfd;
    if (self->memfd >= 0) {
        r = link_mapping_new(self->memfd, self->header.length, &request->mapping);
    }
    drop_memfd(self);
    if (r == 0) {
        return link_parts_read(link_mapping_slice(request->mapping), &request->parts);
    }
    request->error = r;
    request->parts.count = 0;
    return r == LINK_ECORRUPT ? r : 0;
}

/* Copies a request out of the area, which is free then. -> 0, LINK_ECORRUPT. */
static int read_area(struct link_reader *self, struct link_request *request)
{
    struct buffer bytes = BUFFER_INIT;
    buffer_put(&bytes, self->memory.area, (size_t)self->header.length);
    atomic_fetch_add(&self->memory.page->area_taken, 1);
    request->mapping = link_mapping_adopt(&bytes);
    return link_parts_read(link_mapping_slice(request->mapping), &request->parts);
}

/* -> 0: all of it is there, the errors of receive, LINK_ECORRUPT. */
static int read_payload(struct link_reader *self, struct link_request *request)
{
    if ((self->header.kind & LINK_LARGE) != 0) {
        return read_memfd(self, request);
    }
    while (self->payload_n < request->size) {
        ssize_t n =
            receive(self, request->payload + self->payload_n, request->size - self->payload_n);
        if (n < 0) {
            return (int)n;
        }
        self->payload_n += (size_t)n;
    }
    if (self->memfd != -1) { /* nothing was said of it */
        drop_memfd(self);
        return LINK_ECORRUPT;
    }
    if ((self->header.kind & LINK_AREA) != 0) {
        return read_area(self, request);
    }
    return link_parts_read((struct slice){request->payload, request->size}, &request->parts);
}

int link_incoming_read(struct link_reader *self, struct link_request **ret_request)
{
    int r = read_header(self);
    if (r == 0) {
        r = read_payload(self, self->partial);
    }
    if (r == 0) {
        *ret_request = self->partial;
        self->partial = NULL;
        self->header_n = 0;
    }
    return r;
}

void link_incoming_release(struct link_reader *self)
{
    link_request_destroy(&self->partial);
    drop_memfd(self);
}
