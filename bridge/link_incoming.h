#ifndef BRIDGE_LINK_INCOMING_H
#define BRIDGE_LINK_INCOMING_H

/*
 * The part of the worker's reader that reads (link_reader.c is the part that waits). It
 * has those fields that are the reading thread's alone. Internal to the door.
 */

#include "bridge/link.h"

/*
 * Reads on, without waiting, up to the end of one request. The caller has the role of the
 * reader. -> 0 and the request, which is the caller's; -EAGAIN: it is not all there yet;
 * LINK_ECLOSED, LINK_ECORRUPT, -errno: nothing more will come.
 */
int link_incoming_read(struct link_reader *self, struct link_request **ret_request);

/* Drops what is half there. */
void link_incoming_release(struct link_reader *self);

#endif
