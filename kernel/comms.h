#ifndef KERNEL_COMMS_H
#define KERNEL_COMMS_H

/*
 * Which comms are open (Messaging spec, "Custom messages"). The comms
 * themselves live in Python; the kernel process sees each comm_open and
 * comm_close pass, from both sides, and so can tell while a cell runs.
 */

#include <stdbool.h>
#include <stddef.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum { COMMS_MAX = 65536 }; /* more than these are not told of */

struct comm_entry;

/* Zero-initialise. */
struct comms {
    struct comm_entry *first;
    size_t count;
};
void comms_release(struct comms *self);

/*
 * A comm message of that type passed; `content` is a JSON object. What has no
 * comm_id, and other types, change nothing.
 */
void comms_note(struct comms *self, struct slice type, struct slice content);

/*
 * Takes one of the open comms off the list and appends the content of the
 * comm_close that says so. -> false: there is none.
 */
bool comms_close_next(struct comms *self, struct buffer *ret_content);

/* Appends `"comms":{…}`; `target`, a raw JSON string, leaves only its own. target.n 0: all. */
void comms_put_info(const struct comms *self, struct slice target, struct buffer *ret_member);

#endif
