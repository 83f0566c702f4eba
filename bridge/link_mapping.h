#ifndef BRIDGE_LINK_MAPPING_H
#define BRIDGE_LINK_MAPPING_H

/* How a mapping is made. Internal to the door; the rest is in link.h. */

#include "bridge/link.h"

/* Maps a sealed memfd of exactly `size` bytes. -> 0, LINK_ECORRUPT, -errno. */
int link_mapping_new(int fd, uint64_t size, struct link_mapping **ret_mapping);

/* Takes the buffer's bytes; it is empty then. */
struct link_mapping *link_mapping_adopt(struct buffer *bytes);

struct slice link_mapping_slice(const struct link_mapping *self);

#endif
