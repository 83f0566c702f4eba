/*
 * What becomes of requests for Python: which is next, and what follows when one is over.
 * Runs in the kernel process, on the thread of the zloop. Owns the requests that wait
 * (job_queue.h) and those with Python.
 *
 * Requests that cannot run stand in the queue too, so that replies come in the
 * order of the requests.
 */

#include "kernel/lane.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/door.h"
#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/remember.h"
#include "kernel/reply.h"
#include "kernel/router.h"
#include "kernel/signals.h"
#include "kernel/stop.h"
#include "kernel/worker_death.h"

void lane_init(struct lane *self)
{
    memset(self, 0, sizeof *self);
    job_queue_init(&self->queue);
    job_queue_init(&self->ahead);
    self->next_count = 1;
    self->bytes_max = LANE_BYTES_MAX;
}

void lane_release(struct lane *self)
{
    abort_window_release(&self->window);
    origin_unref(&self->last_cell);
    job_destroy(&self->current);
    job_queue_release(&self->ahead);
    job_queue_release(&self->queue);
}

uint64_t lane_running(const struct lane *self)
{
    return self->current ? self->current->origin->number : 0;
}

struct origin *lane_origin(const struct kernel *kernel, uint64_t number)
{
    const struct job *job = kernel->lane.current;

    /* Thousands of comm messages may have come since it began. */
    return job && job->origin->number == number ? job->origin
                                                : origins_find(&kernel->origins, number);
}

/* The count in replies of requests that used none up: the last one that was. */
static uint32_t last_count(const struct lane *self)
{
    return self->next_count - 1;
}

static void publish_input(struct kernel *kernel, const struct job *job)
{
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"code\":");
    buffer_put_slice(&content, job->code);
    buffer_printf(&content, ",\"execution_count\":%" PRIu32 "}", job->count);
    iopub_publish(&kernel->iopub, "execute_input", job->origin, slice_of("{}"),
                  buffer_slice(&content));
    buffer_release(&content);
}

/* A cell begins: what is noted of it, and its execute_input. */
static void start_cell(struct kernel *kernel, struct job *job)
{
    cell_marker_set(&kernel->marker, job->count);
    buffer_clear(&kernel->fd2);
    if (!job->silent) {
        origin_unref(&kernel->lane.last_cell);
        kernel->lane.last_cell = origin_ref(job->origin);
        publish_input(kernel, job);
        worker_death_tell_notice(kernel, job->origin);
    }
}

/* Over to Python, which starts at once; meanwhile busy, and execute_input of a cell. */
static void start(struct kernel *kernel, struct job *job)
{
    struct lane *self = &kernel->lane;

    CHECK(!self->current);
    output_flush(&kernel->output);
    origins_add(&kernel->origins, job->origin);
    job->count = self->next_count;
    job_start(job);
    origins_speak(&kernel->origins, job->origin);
    self->current = job;
    job->begun = true;
    if (job->store_history) { /* before the cell can ask for the session's number */
        remember_cell(kernel, job->count, job->code);
    }
    if (kernel->worker == WORKER_READY) {
        door_send(kernel, LINK_SHELL, job->count, job->origin->number, job->part, job->parts);
    }
    time_limit_start(kernel, job);
    iopub_status(&kernel->iopub, job->origin, "busy");
    if (job->kind == JOB_EXECUTE) {
        start_cell(kernel, job);
    }
}

/* Comm messages that no cell stands before go ahead; all do while what runs awaits. */
static void pass_comms(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;
    struct job **at = &self->queue.first;

    if (!self->current || self->queue.waiting[JOB_COMM] == 0 || kernel->stopping ||
        kernel->restarting || kernel->worker != WORKER_READY) {
        return;
    }
    for (size_t i = 0; i < LANE_LOOK_MAX && *at; i++) {
        if ((*at)->kind == JOB_EXECUTE && !self->current->awaits) {
            return;
        }
        if ((*at)->kind != JOB_COMM || (*at)->invalid) {
            at = &(*at)->next;
        } else if (ahead_has_room(&self->ahead, *at)) {
            struct job *job = job_queue_take(&self->queue, at);

            ahead_put(kernel, &job);
        } else {
            return;
        }
    }
}

void lane_run(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;

    if (!self->current && self->queue.first) {
        signals_take(kernel); /* what came before the request is not meant for it */
    }
    while (!self->current && self->queue.first && !kernel->stopping && !kernel->restarting &&
           (kernel->worker == WORKER_READY || kernel->worker == WORKER_BROKEN)) {
        struct job *job = job_queue_take_first(&self->queue);

        if (job->invalid) {
            job_refuse(kernel, &job, last_count(self), "ProtocolError", job->invalid);
        } else if (kernel->worker == WORKER_BROKEN) {
            start(kernel, job);
            lane_fail(kernel, "KernelStartError", kernel->start_error, NULL);
        } else {
            start(kernel, job);
        }
    }
    pass_comms(kernel);
    router_pace_shell(kernel);
}

/* Reply and idle of the current request. */
static void finish(struct kernel *kernel, struct job *job, const char *status, struct slice members,
                   struct slice facts)
{
    struct lane *self = &kernel->lane;
    uint32_t count = job->store_history ? job->count : last_count(self);

    time_limit_stop(kernel);
    if (!job->begun) {
        iopub_status(&kernel->iopub, job->origin, "busy");
    }
    if (job->store_history) {
        self->next_count++;
    }
    if (job->kind == JOB_EXECUTE) {
        cell_marker_set(&kernel->marker, 0);
    }
    job_reply(kernel, job, count, status, members, facts);
    iopub_status(&kernel->iopub, job->origin, "idle");
}

/* The current request is over. Next come the comm messages that the worker has, too. */
static void end_current(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;

    job_destroy(&self->current);
    self->current = job_queue_take_first(&self->ahead);
    if (self->current) {
        time_limit_start(kernel, self->current);
    }
}

static void refuse_all(struct kernel *kernel, struct job *list)
{
    while (list) {
        struct job *next = list->next;

        job_refuse(kernel, &list, last_count(&kernel->lane), NULL, NULL);
        list = next;
    }
}

/* What the user typed a moment ago: pointless now. */
static void drop_completions(struct kernel *kernel, const struct job *newer)
{
    struct lane *self = &kernel->lane;

    if (newer->kind == JOB_EXECUTE || newer->kind == JOB_COMPLETE) {
        refuse_all(kernel, job_queue_take_kind(&self->queue, JOB_COMPLETE, true));
    }
    if (newer->kind == JOB_EXECUTE && self->current && self->current->kind == JOB_COMPLETE) {
        interrupt_running(kernel);
    }
}

void lane_put(struct kernel *kernel, struct job **job_p)
{
    struct lane *self = &kernel->lane;
    struct job *job = *job_p;

    *job_p = NULL;
    if (kernel->stopping || (job->kind == JOB_EXECUTE && !job_is_control(job) &&
                             abort_window_covers(&self->window, job->origin->header))) {
        job_refuse(kernel, &job, last_count(self), NULL, NULL);
        return;
    }
    drop_completions(kernel, job);
    job_queue_append(&self->queue, &job);
    lane_run(kernel);
}

void lane_abort(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;
    struct job *job;

    if (kernel->door.memory.page) {
        atomic_store(&kernel->door.memory.page->comm_refused, kernel->origins.last);
    }
    ahead_end_all(kernel, false);
    while ((job = job_queue_take_first(&self->queue))) {
        job_refuse(kernel, &job, last_count(self), NULL, NULL);
    }
    router_pace_shell(kernel);
}

void lane_begin(struct kernel *kernel, uint64_t number)
{
    struct lane *self = &kernel->lane;
    struct job *job = self->current;

    if (job && job->origin->number == number && job->kind == JOB_EXECUTE) {
        job->awaits = true;
        pass_comms(kernel);
        return;
    }
    if (!job || job->origin->number != number) {
        job = *ahead_find(&self->ahead, number);
    }
    if (!job || job->begun) {
        log_debug("request %" PRIu64 " is taken up, which does not wait: ignored", number);
        return;
    }
    ahead_begin(kernel, job);
}

void lane_done(struct kernel *kernel, uint64_t number, struct slice content, struct slice metadata,
               struct slice status)
{
    struct lane *self = &kernel->lane;
    struct job **at = ahead_find(&self->ahead, number);
    struct job *job = self->current, *aborted = NULL;
    bool failed = slice_is(status, "error");

    if (*at) {
        ahead_end(kernel, at);
        ahead_give_word_back(kernel);
        lane_run(kernel);
        return;
    }
    if (!job || job->origin->number != number) {
        if (!kernel->stopping) { /* then one that was refused may have been taken up just before */
            log_warning("answer to request %" PRIu64 ", which is not running, ignored", number);
        }
        return;
    }
    output_finish(&kernel->output, job->origin);
    if (failed && job->kind == JOB_EXECUTE && job->stop_on_error && !job->silent) {
        /*
         * Aborted is what the client sent before it could know of the error:
         * what waits here, what lies in the sockets, and what is on its way.
         * What it sends after the reply, which leaves below, is a new decision.
         */
        router_drain(kernel);
        aborted = job_queue_take_kind(&self->queue, JOB_EXECUTE, false);
        abort_window_open(&self->window, job->origin->header, job->arrived_us);
    }
    finish(kernel, job, failed ? "error" : "ok", (struct slice){content.p + 1, content.n - 1},
           metadata);
    end_current(kernel);
    refuse_all(kernel, aborted);
    if (slice_is(status, "exit")) {
        stop_by_exit(kernel);
    }
    lane_run(kernel);
}

void lane_fail(struct kernel *kernel, const char *ename, const char *evalue, const char *detail)
{
    struct lane *self = &kernel->lane;
    struct job *job = self->current;
    struct buffer error = BUFFER_INIT, content = BUFFER_INIT;

    if (!job) {
        return;
    }
    ahead_end_all(kernel, true);
    output_finish(&kernel->output, job->origin);
    reply_put_error(&error, ename, evalue, detail);
    buffer_put_char(&error, '}');
    if (job->kind == JOB_EXECUTE) {
        buffer_put_char(&content, '{');
        buffer_put_slice(&content, buffer_slice(&error));
        iopub_publish(&kernel->iopub, "error", job->origin, slice_of("{}"), buffer_slice(&content));
        buffer_clear(&content);
    }
    buffer_put_text(&content, "\"status\":\"error\",");
    if (job->kind == JOB_EXECUTE) {
        buffer_put_text(&content, "\"user_expressions\":{},\"payload\":[],");
    }
    buffer_put_slice(&content, buffer_slice(&error));
    finish(kernel, job, "error", buffer_slice(&content), slice_of("{}"));
    job_destroy(&self->current);
    buffer_release(&error);
    buffer_release(&content);
}

void lane_die(struct kernel *kernel, const char *ename, const char *evalue, const char *detail)
{
    struct lane *self = &kernel->lane;
    struct job *aborted;

    router_drain(kernel);
    aborted = job_queue_take_kind(&self->queue, JOB_EXECUTE, true);
    if (self->current && self->current->kind == JOB_EXECUTE) {
        abort_window_open(&self->window, self->current->origin->header, self->current->arrived_us);
    }
    lane_fail(kernel, ename, evalue, detail);
    refuse_all(kernel, aborted);
    router_pace_shell(kernel);
}
