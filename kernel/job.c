/*
 * Jobs and their replies. Runs in the kernel process, on the thread of the
 * zloop.
 */

#include "kernel/job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/clock.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"

struct job *job_new(const struct wire_message *message, struct origin *origin, enum job_kind kind)
{
    size_t buffers = message->frames - message->first_buffer;
    size_t size = message->metadata.n + message->content.n;
    struct job *self;
    uint8_t *at;

    for (size_t i = 0; i < buffers; i++) {
        size += wire_frame(message, message->first_buffer + i).n;
    }
    self = xcalloc(1, sizeof *self + size);
    at = self->bytes;
    self->origin = origin_ref(origin);
    self->kind = kind;
    self->arrived_us = clock_us(CLOCK_MONOTONIC);
    self->metadata = slice_store(&at, message->metadata);
    self->content = slice_store(&at, message->content);
    self->buffers = buffers;
    self->buffer = xcalloc(buffers, sizeof *self->buffer);
    for (size_t i = 0; i < buffers; i++) {
        self->buffer[i] = slice_store(&at, wire_frame(message, message->first_buffer + i));
    }
    return self;
}

void job_destroy(struct job **self_p)
{
    struct job *self = *self_p;

    *self_p = NULL;
    if (self) {
        origin_unref(&self->origin);
        free(self->invalid);
        free(self->buffer);
        free(self);
    }
}

void job_start(struct job *self)
{
    struct buffer date = BUFFER_INIT;

    session_put_date(&date);
    (void)snprintf(self->started, sizeof self->started, "%.*s", (int)date.n, (const char *)date.p);
    buffer_release(&date);
    self->started_us = clock_us(CLOCK_MONOTONIC);
}

/*
 * metadata of an execute_reply, as ipykernel's: clients show times by it. A
 * wall clock may be set meanwhile, so how long it took is told apart.
 */
static void put_metadata(const struct kernel *kernel, const struct job *job, const char *status,
                         struct slice facts, struct buffer *metadata)
{
    buffer_printf(metadata,
                  "{\"started\":\"%s\",\"dependencies_met\":true,\"engine\":\"%s\","
                  "\"einkorn\":{\"waited_us\":%" PRId64 ",\"ran_us\":%" PRId64
                  "},\"status\":\"%s\"",
                  job->started, kernel->session.id, job->started_us - job->arrived_us,
                  clock_us(CLOCK_MONOTONIC) - job->started_us, status);
    if (facts.n > 2) {
        buffer_put_char(metadata, ',');
        buffer_put(metadata, facts.p + 1, facts.n - 2);
    }
    buffer_put_char(metadata, '}');
}

void job_reply(struct kernel *kernel, const struct job *job, uint32_t count, const char *status,
               struct slice members, struct slice facts)
{
    struct buffer content = BUFFER_INIT, metadata = BUFFER_INIT;

    if (job->kind == JOB_COMM) {
        return;
    }
    buffer_put_char(&content, '{');
    if (job->kind == JOB_EXECUTE) {
        buffer_printf(&content, "\"execution_count\":%" PRIu32 ",", count);
        put_metadata(kernel, job, status, facts, &metadata);
    } else {
        buffer_put_text(&metadata, "{}");
    }
    buffer_put_slice(&content, members);
    reply_send(kernel, job->origin, buffer_slice(&metadata), buffer_slice(&content));
    buffer_release(&content);
    buffer_release(&metadata);
}

/* Nothing to offer, at the place that was asked for; clients read these unguarded. */
static void put_no_matches(const struct job *job, struct buffer *members)
{
    int64_t at = 0;

    if (job->invalid || json_object_get_int(job->content, "cursor_pos", 0, &at) < 0 || at < 0) {
        at = 0;
    }
    buffer_printf(members,
                  ",\"matches\":[],\"cursor_start\":%" PRId64 ",\"cursor_end\":%" PRId64
                  ",\"metadata\":{}",
                  at, at);
}

void job_refuse(struct kernel *kernel, struct job **self_p, uint32_t count, const char *ename,
                const char *evalue)
{
    struct job *self = *self_p;
    struct buffer members = BUFFER_INIT;
    const char *status = ename || self->kind == JOB_ASK ? "error"
                         : self->kind == JOB_COMPLETE   ? "ok"
                                                        : "aborted";

    job_start(self);
    iopub_status(&kernel->iopub, self->origin, "busy");
    buffer_printf(&members, "\"status\":\"%s\"", status);
    if (strcmp(status, "error") == 0) {
        buffer_put_char(&members, ',');
        reply_put_error(&members, ename ? ename : "KernelShutdown",
                        ename ? evalue : "the kernel ends", NULL);
    }
    if (self->kind == JOB_COMPLETE) {
        put_no_matches(self, &members);
    }
    buffer_put_char(&members, '}');
    job_reply(kernel, self, count, status, buffer_slice(&members), slice_of("{}"));
    iopub_status(&kernel->iopub, self->origin, "idle");
    buffer_release(&members);
    job_destroy(self_p);
}
