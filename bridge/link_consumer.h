#ifndef BRIDGE_LINK_CONSUMER_H
#define BRIDGE_LINK_CONSUMER_H

/*
 * The consumer's three parts: the round (link_consumer.c), the pipes
 * (link_text.c) and the records (link_records.c). Internal to the door.
 */

#include "bridge/link.h"

enum { LINK_TEXT_ITEM_MAX = 64 << 10 }; /* bytes of one item from a pipe */

/* Reads what waits in both pipes, at most 256 KiB each, behind what is there. */
void link_text_fill(struct link_consumer *self);

/*
 * The next text that lies below the positions of self->sync, read from the
 * pipe if it must be. -> false: there is none left.
 */
bool link_text_below_sync(struct link_consumer *self, struct link_item *ret_item);

/* The next text of those that were read. -> false: there is none left. */
bool link_text_rest(struct link_consumer *self, struct link_item *ret_item);

/*
 * Takes the record at tail. -> 1: it is an item, or completes one; 0: it is
 * not, go on; LINK_ECORRUPT.
 */
int link_records_take(struct link_consumer *self, struct link_item *ret_item);

/* Gives the ring's bytes below `tail` back to the producer. */
void link_records_free(struct link_consumer *self, uint64_t tail);

#endif
