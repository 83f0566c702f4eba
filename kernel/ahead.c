/*
 * Comm messages ahead of a lane: see ahead.h. Runs in the kernel process, on the
 * thread of the zloop. Owns nothing: the jobs are the lane's until they are over.
 *
 * The worker handles one within another when a handler lets it, so several may
 * have begun. They begin in the order in which they were sent, and so the begun ones
 * are the first of the list and the last of them has the word.
 */

#include "kernel/ahead.h"

#include "kernel/door.h"
#include "kernel/kernel.h"

bool ahead_has_room(const struct job_queue *self, const struct job *job)
{
    return self->waiting[JOB_COMM] < AHEAD_MAX &&
           (!self->first || self->bytes + job->bytes <= AHEAD_BYTES_MAX);
}

void ahead_put(struct kernel *kernel, struct job **job_p)
{
    struct job *job = *job_p;

    origins_add(&kernel->origins, job->origin);
    job_start(job);
    job_queue_put_last(&kernel->lane.ahead, job_p);
    door_send(kernel, LINK_COMM, 0, job->origin->number, job->part, job->parts);
}

struct job **ahead_find(struct job_queue *self, uint64_t number)
{
    struct job **at = &self->first;

    while (*at && (*at)->origin->number != number) {
        at = &(*at)->next;
    }
    return at;
}

void ahead_begin(struct kernel *kernel, struct job *job)
{
    output_flush(&kernel->output);
    job->begun = true;
    origins_speak(&kernel->origins, job->origin);
    iopub_status(&kernel->iopub, job->origin, "busy");
}

void ahead_end(struct kernel *kernel, struct job **at)
{
    struct job *job = job_queue_take(&kernel->lane.ahead, at);

    output_finish(&kernel->output, job->origin);
    if (!job->begun) {
        iopub_status(&kernel->iopub, job->origin, "busy");
    }
    iopub_status(&kernel->iopub, job->origin, "idle");
    job_destroy(&job);
}

void ahead_end_all(struct kernel *kernel, bool begun_too)
{
    struct job **at = &kernel->lane.ahead.first;

    while (*at) {
        if ((*at)->begun && !begun_too) {
            at = &(*at)->next;
        } else {
            ahead_end(kernel, at);
        }
    }
}

void ahead_give_word_back(struct kernel *kernel)
{
    const struct job *speaker = kernel->lane.current;

    for (const struct job *job = kernel->lane.ahead.first; job && job->begun; job = job->next) {
        speaker = job;
    }
    if (speaker && speaker->begun) {
        origins_speak(&kernel->origins, speaker->origin);
    }
}
