#ifndef KERNEL_AHEAD_H
#define KERNEL_AHEAD_H

/*
 * Comm messages that have gone ahead of what waits in a lane, to a worker that
 * runs something else (Messaging spec, "Custom messages"). It takes them up one
 * by one, when it can: in an await, in process_messages(), or when what runs is
 * done. It says when (LINK_BEGIN), and when it is done with one (LINK_DONE).
 *
 * They are a queue of their own in the lane, as they were sent: first those that have begun.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kernel/job_queue.h"

struct kernel;

/* What the worker may have of them at once. */
enum {
    AHEAD_MAX = 1024,          /* messages */
    AHEAD_BYTES_MAX = 8 << 20, /* bytes; a single one may be larger */
};

/* May this one follow, too? */
bool ahead_has_room(const struct job_queue *self, const struct job *job);

/* Sends it to the worker (takes it). */
void ahead_put(struct kernel *kernel, struct job **job_p);

/* -> where the job of that number is; what that points to is NULL if there is none. */
struct job **ahead_find(struct job_queue *self, uint64_t number);

/* The worker has taken one up (one of these, or the lane's current one): busy, and the word is its.
 */
void ahead_begin(struct kernel *kernel, struct job *job);

/* One is done, or will never be: what is left of busy and idle. */
void ahead_end(struct kernel *kernel, struct job **at);

/* The same for all, or for those that have not begun. */
void ahead_end_all(struct kernel *kernel, bool begun_too);

/* One is done: who has the word now, another one that has begun or the lane's current one. */
void ahead_give_word_back(struct kernel *kernel);

#endif
