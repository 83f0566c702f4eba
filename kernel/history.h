#ifndef KERNEL_HISTORY_H
#define KERNEL_HISTORY_H

/*
 * What was run in this session (Messaging spec, "History"). Kept in the kernel
 * process, so that it is answered while a cell runs. Inputs and outputs stay
 * raw JSON strings, as they came and as they go out. What earlier sessions ran
 * is in a file: remember.h.
 */

#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"
#include "kernel/history_query.h"

enum {
    HISTORY_ENTRIES = 10000,         /* cells kept; the oldest go first */
    HISTORY_BYTES = 32 << 20,        /* of all inputs and outputs together */
    HISTORY_OUTPUT_BYTES = 64 << 10, /* a result that is longer is not kept */
    HISTORY_SESSION = 1,             /* this session's number where it has none in a file */
};

struct history_entry;

/* Zero-initialise. */
struct history {
    struct history_entry *entry[HISTORY_ENTRIES]; /* a ring */
    size_t first, count;
    size_t bytes;
};
void history_release(struct history *self);

/*
 * A cell was given that line number; `input` is its code, a raw JSON string.
 * Newlines at its end are not kept, as IPython keeps none.
 */
void history_add(struct history *self, uint32_t line, struct slice input);

/*
 * What IPython made of its code, where that is another: a raw JSON string.
 * -> whether it is the cell that was added last; else it is ignored.
 */
bool history_set_source(struct history *self, uint32_t line, struct slice source);

/* Its result's text/plain, a raw JSON string. Ignored if the cell is not kept. */
void history_set_output(struct history *self, uint32_t line, struct slice output);

/* The result of that line, a raw JSON string; NULL and 0: there is none. */
struct slice history_output(const struct history *self, uint32_t line);

/*
 * Appends `"history":[…]`, what the request asks for. `number` is this session's in
 * the file, 0 if it has none. A range has the number of the session that
 * was asked for, 0 or this one's.
 */
void history_answer(const struct history *self, const struct history_query *query, int64_t number,
                    struct buffer *ret_member);

/* Appends one row of an answer. `input` and `output` (n 0: none) are raw JSON strings. */
void history_put_row(struct buffer *out, int64_t session, int64_t line, struct slice input,
                     bool with_output, struct slice output);

#endif
