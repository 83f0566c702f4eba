#ifndef BRIDGE_LINK_PARTS_H
#define BRIDGE_LINK_PARTS_H

/*
 * The frame before the bytes of a payload of parts, for those who write one.
 * Internal to the door; reading is link_parts_read.
 */

#include "bridge/link.h"

struct link_frame {
    uint32_t start[2]; /* count, padding */
    uint64_t length[LINK_PARTS_MAX + LINK_PADDING_MAX / sizeof(uint64_t)];
};

/*
 * Describes the parts; ret_size is as link_parts_size says. -> 0, -EMSGSIZE.
 */
int link_frame_init(struct link_frame *self, const struct slice *part, size_t count,
                    uint64_t *ret_size);

/*
 * Makes the part's bytes begin at a multiple of LINK_PART_ALIGN. -> the bytes
 * that the payload has more than link_frame_init said.
 */
size_t link_frame_align(struct link_frame *self, size_t part);

/* The frame's bytes; the parts' own follow them. */
struct slice link_frame_slice(const struct link_frame *self);

#endif
