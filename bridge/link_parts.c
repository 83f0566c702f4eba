/*
 * Payloads of several parts: one table of lengths, then the bytes. The reader
 * of it trusts no length; the frame's writer is shared by the producer and the
 * sender. Both processes run it. Owns nothing.
 */

#include "bridge/link_parts.h"

#include <errno.h>

int link_parts_read(struct slice payload, struct link_parts *ret_parts)
{
    uint32_t start[2];
    if (payload.n < sizeof start) {
        return LINK_ECORRUPT;
    }
    memcpy(start, payload.p, sizeof start);
    const size_t count = start[0];
    if (count > LINK_PARTS_MAX || start[1] > LINK_PADDING_MAX ||
        payload.n - sizeof start < count * sizeof(uint64_t) + start[1]) {
        return LINK_ECORRUPT;
    }
    const uint8_t *table = payload.p + sizeof start;
    const uint8_t *p = table + count * sizeof(uint64_t) + start[1];
    size_t left = payload.n - (size_t)(p - payload.p);
    for (size_t i = 0; i < count; i++) {
        uint64_t length;
        memcpy(&length, table + i * sizeof length, sizeof length);
        if (length > left) {
            return LINK_ECORRUPT;
        }
        ret_parts->part[i] = (struct slice){p, (size_t)length};
        p += length;
        left -= (size_t)length;
    }
    if (left != 0) {
        return LINK_ECORRUPT;
    }
    ret_parts->count = count;
    return 0;
}

int link_parts_size(const struct slice *part, size_t count, uint64_t *ret_size)
{
    if (count > LINK_PARTS_MAX) {
        return -EMSGSIZE;
    }
    uint64_t size = 2 * sizeof(uint32_t) + count * sizeof(uint64_t);
    for (size_t i = 0; i < count; i++) {
        if (part[i].n > LINK_PAYLOAD_MAX - LINK_PADDING_MAX - size) {
            return -EMSGSIZE;
        }
        size += part[i].n;
    }
    *ret_size = size;
    return 0;
}

int link_frame_init(struct link_frame *self, const struct slice *part, size_t count,
                    uint64_t *ret_size)
{
    int r = link_parts_size(part, count, ret_size);
    if (r != 0) {
        return r;
    }
    self->start[0] = (uint32_t)count;
    self->start[1] = 0;
    for (size_t i = 0; i < count; i++) {
        self->length[i] = part[i].n;
    }
    return 0;
}

size_t link_frame_align(struct link_frame *self, size_t part)
{
    uint64_t at = link_frame_slice(self).n;
    for (size_t i = 0; i < part; i++) {
        at += self->length[i];
    }
    size_t padding = (size_t)(-at % LINK_PART_ALIGN);
    memset(&self->length[self->start[0]], 0, padding);
    self->start[1] = (uint32_t)padding;
    return padding;
}

struct slice link_frame_slice(const struct link_frame *self)
{
    return (struct slice){(const uint8_t *)self, sizeof self->start +
                                                     self->start[0] * sizeof self->length[0] +
                                                     self->start[1]};
}
