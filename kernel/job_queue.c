/*
 * Jobs in a lane: those that wait, and the comm messages that have gone ahead of them. Runs
 * in the kernel process, on the thread of the zloop. Owns them. Those of control and those of shell
 * stand in one list: whoever looks for the next one, or goes through all, need not know of
 * channels.
 */

#include "kernel/job_queue.h"

#include <string.h>

void job_queue_init(struct job_queue *self)
{
    memset(self, 0, sizeof *self);
    self->last = &self->first;
}

struct job *job_queue_take(struct job_queue *self, struct job **at)
{
    struct job *job = *at;

    *at = job->next;
    if (!*at) {
        self->last = at;
    }
    self->waiting[job->kind]--;
    self->bytes -= job->bytes;
    job->next = NULL;
    return job;
}

struct job *job_queue_take_first(struct job_queue *self)
{
    return self->first ? job_queue_take(self, &self->first) : NULL;
}

void job_queue_release(struct job_queue *self)
{
    struct job *job;

    while ((job = job_queue_take_first(self))) {
        job_destroy(&job);
    }
}

bool job_is_control(const struct job *self)
{
    return self->origin->channel == CHANNEL_CONTROL;
}

static void insert(struct job_queue *self, struct job **at, struct job **job_p)
{
    struct job *job = *job_p;

    *job_p = NULL;
    job->next = *at;
    *at = job;
    if (!job->next) {
        self->last = &job->next;
    }
    self->waiting[job->kind]++;
    self->bytes += job->bytes;
}

void job_queue_append(struct job_queue *self, struct job **job_p)
{
    struct job **at = self->last;

    if (job_is_control(*job_p)) {
        for (at = &self->first; *at && job_is_control(*at); at = &(*at)->next) {
        }
    }
    insert(self, at, job_p);
}

void job_queue_put_last(struct job_queue *self, struct job **job_p)
{
    insert(self, self->last, job_p);
}

struct job *job_queue_take_kind(struct job_queue *self, enum job_kind kind, bool from_control)
{
    struct job *taken = NULL, **taken_last = &taken;
    struct job **at = &self->first;

    /* A long queue is not looked through for nothing. */
    while (*at && self->waiting[kind] > 0) {
        if ((*at)->kind == kind && (from_control || !job_is_control(*at))) {
            *taken_last = job_queue_take(self, at);
            taken_last = &(*taken_last)->next;
        } else {
            at = &(*at)->next;
        }
    }
    return taken;
}
