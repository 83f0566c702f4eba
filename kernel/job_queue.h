#ifndef KERNEL_JOB_QUEUE_H
#define KERNEL_JOB_QUEUE_H

/*
 * Jobs that wait their turn, in the order in which they will have it.
 *
 * Whoever goes through them does it by `first` and `next`, with a pointer to the pointer
 * where one is to be taken out on the way. The counts are for those who need not look then.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kernel/job.h"

struct job_queue {
    struct job *first, **last;
    size_t waiting[JOB_KINDS]; /* how many of each kind */
    size_t bytes;              /* of all that wait */
};

void job_queue_init(struct job_queue *self);
void job_queue_release(struct job_queue *self);

/* Whether it came on the control channel. */
bool job_is_control(const struct job *self);

/* Takes a job, to the end of its channel's: those of control are before those of shell. */
void job_queue_append(struct job_queue *self, struct job **job_p);

/* Takes a job, to the end of all, for a queue in which channels mean nothing. */
void job_queue_put_last(struct job_queue *self, struct job **job_p);

/* The job that `at` points to leaves the queue, and is the caller's. */
struct job *job_queue_take(struct job_queue *self, struct job **at);

/* The same of the one whose turn it is. -> NULL: none waits. */
struct job *job_queue_take_first(struct job_queue *self);

/*
 * The same of all of a kind, of those that came on control only if `from_control`.
 * -> a list, in their order; NULL: there are none.
 */
struct job *job_queue_take_kind(struct job_queue *self, enum job_kind kind, bool from_control);

#endif
