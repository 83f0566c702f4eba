/*
 * The queue of execute requests. Runs in the kernel process, on the thread of
 * the zloop. Owns the requests that wait and the one with Python.
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
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/reply.h"
#include "kernel/router.h"
#include "kernel/signals.h"
#include "kernel/stop.h"

struct execution *execution_new(const struct wire_message *message, struct origin *origin)
{
    size_t buffers = message->frames - message->first_buffer;
    size_t size = message->metadata.n + message->content.n;
    struct execution *self;
    uint8_t *at;

    for (size_t i = 0; i < buffers; i++) {
        size += wire_frame(message, message->first_buffer + i).n;
    }
    self = xcalloc(1, sizeof *self + size);
    at = self->bytes;
    self->origin = origin_ref(origin);
    self->arrived_us = abort_window_now_us();
    self->metadata = slice_store(&at, message->metadata);
    self->content = slice_store(&at, message->content);
    self->buffers = buffers;
    self->buffer = xcalloc(buffers, sizeof *self->buffer);
    for (size_t i = 0; i < buffers; i++) {
        self->buffer[i] = slice_store(&at, wire_frame(message, message->first_buffer + i));
    }
    return self;
}

void execution_destroy(struct execution **self_p)
{
    struct execution *self = *self_p;

    *self_p = NULL;
    if (self) {
        origin_unref(&self->origin);
        free(self->invalid);
        free(self->buffer);
        free(self);
    }
}

void lane_init(struct lane *self)
{
    memset(self, 0, sizeof *self);
    self->last = &self->first;
    self->next_count = 1;
}

static struct execution *take_first(struct lane *self)
{
    struct execution *first = self->first;

    if (first) {
        self->first = first->next;
        first->next = NULL;
        if (!self->first) {
            self->last = &self->first;
        }
    }
    return first;
}

void lane_release(struct lane *self)
{
    struct execution *execution;

    abort_window_release(&self->window);
    execution_destroy(&self->current);
    while ((execution = take_first(self))) {
        execution_destroy(&execution);
    }
}

uint64_t lane_running(const struct lane *self)
{
    return self->current ? self->current->origin->number : 0;
}

/* The count in replies of requests that used none up: the last one that was. */
static uint32_t last_count(const struct lane *self)
{
    return self->next_count - 1;
}

/* metadata of an execute_reply, as ipykernel's: clients show times by it. */
static void put_metadata(const struct kernel *kernel, const struct execution *execution,
                         const char *status, struct slice facts, struct buffer *metadata)
{
    buffer_printf(
        metadata,
        "{\"started\":\"%s\",\"dependencies_met\":true,\"engine\":\"%s\",\"status\":\"%s\"",
        execution->started, kernel->session.id, status);
    if (facts.n > 2) {
        buffer_put_char(metadata, ',');
        buffer_put(metadata, facts.p + 1, facts.n - 2);
    }
    buffer_put_char(metadata, '}');
}

static void put_started(char ret_started[40])
{
    struct buffer date = BUFFER_INIT;

    session_put_date(&date);
    (void)snprintf(ret_started, 40, "%.*s", (int)date.n, (const char *)date.p);
    buffer_release(&date);
}

/* Ends a request that never reached Python: busy, a reply without output, idle. */
static void refuse(struct kernel *kernel, struct execution **execution_p, const char *status,
                   const char *ename, const char *evalue)
{
    struct execution *execution = *execution_p;
    struct buffer content = BUFFER_INIT, metadata = BUFFER_INIT;

    put_started(execution->started);
    iopub_status(&kernel->iopub, execution->origin, "busy");
    buffer_printf(&content, "{\"status\":\"%s\",\"execution_count\":%" PRIu32, status,
                  last_count(&kernel->lane));
    if (ename) {
        buffer_put_char(&content, ',');
        reply_put_error(&content, ename, evalue, NULL);
    }
    buffer_put_char(&content, '}');
    put_metadata(kernel, execution, status, slice_of("{}"), &metadata);
    reply_send(kernel, execution->origin, buffer_slice(&metadata), buffer_slice(&content));
    iopub_status(&kernel->iopub, execution->origin, "idle");
    buffer_release(&content);
    buffer_release(&metadata);
    execution_destroy(execution_p);
}

static void publish_input(struct kernel *kernel, const struct execution *execution)
{
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"code\":");
    buffer_put_slice(&content, execution->code);
    buffer_printf(&content, ",\"execution_count\":%" PRIu32 "}", execution->count);
    iopub_publish(&kernel->iopub, "execute_input", execution->origin, slice_of("{}"),
                  buffer_slice(&content));
    buffer_release(&content);
}

/* busy, execute_input, and over to Python. */
static void start(struct kernel *kernel, struct execution *execution)
{
    struct lane *self = &kernel->lane;
    size_t parts = 4 + execution->buffers;
    struct slice *part = xcalloc(parts, sizeof *part);

    CHECK(!self->current);
    output_flush(&kernel->output);
    origins_add(&kernel->origins, execution->origin);
    execution->count = self->next_count;
    put_started(execution->started);
    self->current = execution;
    iopub_status(&kernel->iopub, execution->origin, "busy");
    if (!execution->silent) {
        publish_input(kernel, execution);
    }
    part[0] = execution->origin->type;
    part[1] = execution->origin->header;
    part[2] = execution->metadata;
    part[3] = execution->content;
    for (size_t i = 0; i < execution->buffers; i++) {
        part[4 + i] = execution->buffer[i];
    }
    door_send(kernel, LINK_SHELL, execution->count, execution->origin->number, part, parts);
    free(part);
}

void lane_run(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;

    if (!self->current && self->first) {
        signals_take(kernel); /* what came before the request is not meant for it */
    }
    while (!self->current && self->first && !kernel->stopping &&
           (kernel->worker == WORKER_READY || kernel->worker == WORKER_BROKEN)) {
        struct execution *execution = take_first(self);

        if (execution->invalid) {
            refuse(kernel, &execution, "error", "ProtocolError", execution->invalid);
        } else if (kernel->worker == WORKER_BROKEN) {
            start(kernel, execution);
            lane_fail(kernel, "KernelStartError", kernel->start_error, NULL);
        } else {
            start(kernel, execution);
        }
    }
}

void lane_put(struct kernel *kernel, struct execution **execution_p)
{
    struct lane *self = &kernel->lane;
    struct execution *execution = *execution_p;

    *execution_p = NULL;
    if (kernel->stopping || abort_window_covers(&self->window, execution->origin->header)) {
        refuse(kernel, &execution, "aborted", NULL, NULL);
        return;
    }
    *self->last = execution;
    self->last = &execution->next;
    lane_run(kernel);
}

void lane_abort(struct kernel *kernel)
{
    struct lane *self = &kernel->lane;
    struct execution *execution;

    while ((execution = take_first(self))) {
        refuse(kernel, &execution, "aborted", NULL, NULL);
    }
}

/* Reply and idle of the current request. The reply's count stands in front of its content. */
static void finish(struct kernel *kernel, struct execution *execution, const char *status,
                   struct slice members, struct slice facts)
{
    struct lane *self = &kernel->lane;
    struct buffer content = BUFFER_INIT, metadata = BUFFER_INIT;
    uint32_t count = execution->store_history ? execution->count : last_count(self);

    if (execution->store_history) {
        self->next_count++;
    }
    buffer_printf(&content, "{\"execution_count\":%" PRIu32 ",", count);
    buffer_put_slice(&content, members);
    put_metadata(kernel, execution, status, facts, &metadata);
    reply_send(kernel, execution->origin, buffer_slice(&metadata), buffer_slice(&content));
    iopub_status(&kernel->iopub, execution->origin, "idle");
    buffer_release(&content);
    buffer_release(&metadata);
}

void lane_done(struct kernel *kernel, uint64_t number, struct slice content, struct slice metadata,
               struct slice status)
{
    struct lane *self = &kernel->lane;
    struct execution *execution = self->current, *aborted = NULL;
    bool failed = slice_is(status, "error");

    if (!execution || execution->origin->number != number) {
        log_warning("answer to request %" PRIu64 ", which is not running, ignored", number);
        return;
    }
    output_finish(&kernel->output, execution->origin);
    if (failed && execution->stop_on_error && !execution->silent) {
        /*
         * Aborted is what the client sent before it could know of the error:
         * what waits here, what lies in the sockets, and what is on its way.
         * What it sends after the reply, which leaves below, is a new decision.
         */
        router_drain(kernel);
        aborted = self->first;
        self->first = NULL;
        self->last = &self->first;
        abort_window_open(&self->window, execution->origin->header, execution->arrived_us);
    }
    finish(kernel, execution, failed ? "error" : "ok", (struct slice){content.p + 1, content.n - 1},
           metadata);
    execution_destroy(&self->current);
    while (aborted) {
        struct execution *next = aborted->next;

        refuse(kernel, &aborted, "aborted", NULL, NULL);
        aborted = next;
    }
    if (slice_is(status, "exit")) {
        stop_begin(kernel, 0);
    }
    lane_run(kernel);
}

void lane_fail(struct kernel *kernel, const char *ename, const char *evalue, const char *detail)
{
    struct lane *self = &kernel->lane;
    struct execution *execution = self->current;
    struct buffer content = BUFFER_INIT;

    if (execution) {
        output_finish(&kernel->output, execution->origin);
        buffer_put_char(&content, '{');
        reply_put_error(&content, ename, evalue, detail);
        buffer_put_char(&content, '}');
        iopub_publish(&kernel->iopub, "error", execution->origin, slice_of("{}"),
                      buffer_slice(&content));
        buffer_clear(&content);
        buffer_put_text(&content, "\"status\":\"error\",\"user_expressions\":{},\"payload\":[],");
        reply_put_error(&content, ename, evalue, detail);
        buffer_put_char(&content, '}');
        finish(kernel, execution, "error", buffer_slice(&content), slice_of("{}"));
        execution_destroy(&self->current);
    }
    buffer_release(&content);
}
