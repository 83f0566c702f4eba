#ifndef KERNEL_HISTORY_WAIT_H
#define KERNEL_HISTORY_WAIT_H

/*
 * A history_request on its way to its reply (Messaging spec, "History"): remember.c decides
 * whom it is put to, here it waits and is answered.
 */

#include <stddef.h>
#include <stdint.h>

#include "kernel/history_query.h"

struct history_rows;
struct kernel;
struct origin;

/* One that waits for the file; oldest first in kernel->remember.waits. */
struct history_wait {
    struct history_wait *next;
    struct kernel *kernel;
    struct origin *origin;
    struct history_query query;
    uint64_t ask; /* the number that it has with the keeper */
    int timer;
};

/* Answers at once, from memory: reply and idle. */
void history_answer_at_once(struct kernel *kernel, const struct origin *origin,
                            const struct history_query *query);

/*
 * Waits for rows, and if they have not come after patience_ms, answers from memory. Takes
 * what is in `query`, keeps a reference of origin.
 */
void history_wait_add(struct kernel *kernel, struct origin *origin, struct history_query *query,
                      uint64_t ask, size_t patience_ms);

/* The file has answered: reply and idle of that request, if it still waits. */
void history_wait_answer(struct kernel *kernel, uint64_t ask, const struct history_rows *rows);

/* No file will answer: all that wait are answered from memory. */
void history_wait_give_up(struct kernel *kernel);

#endif
