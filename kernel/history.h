#ifndef KERNEL_HISTORY_H
#define KERNEL_HISTORY_H

/*
 * What was run in this session (Messaging spec, "History"). Kept in the kernel
 * process, so that it is answered while a cell runs. Inputs and outputs stay
 * raw JSON strings, as they came and as they go out.
 */

#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum {
    HISTORY_ENTRIES = 10000,         /* cells kept; the oldest go first */
    HISTORY_BYTES = 32 << 20,        /* of all inputs and outputs together */
    HISTORY_OUTPUT_BYTES = 64 << 10, /* a result that is longer is not kept */
    HISTORY_SESSION = 1,             /* this session's number where nobody asked for another */
};

struct history_entry;

/* Zero-initialise. */
struct history {
    struct history_entry *entry[HISTORY_ENTRIES]; /* a ring */
    size_t first, count;
    size_t bytes;
};
void history_release(struct history *self);

/* A cell was given that line number; `input` is its code, a raw JSON string. */
void history_add(struct history *self, uint32_t line, struct slice input);

/* Its result's text/plain, a raw JSON string. Ignored if the cell is not kept. */
void history_set_output(struct history *self, uint32_t line, struct slice output);

/*
 * Appends `"history":[…]`, what a checked history_request's content asks for.
 * -> NULL, or what is wrong with the content (static).
 */
const char *history_answer(const struct history *self, struct slice content,
                           struct buffer *ret_member);

#endif
