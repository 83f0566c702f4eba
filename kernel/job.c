/*
 * Jobs and their replies. Runs in the kernel process, on the thread of the
 * zloop.
 */

#include "kernel/job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/clock.h"
#include "bridge/json_text.h"
#include "bridge/link.h"
#include "bridge/xalloc.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"

enum {
    PART_COST = 200, /* bytes that a part takes besides what is in it */
    /*
     * Smaller frames lie in ZeroMQ's receive buffer, of 8 KiB, which all that was received
     * with them keeps alive: a cell of ten bytes could take that much while it waits.
     */
    COPY_MAX = 8 << 10,
};

/* The worker's parts: the frames from the message's metadata on, behind type and header. */
static void keep_parts(struct job *self, const struct wire_message *message)
{
    size_t first = message->frames - self->frames;

    self->part[JOB_TYPE] = self->origin->type;
    self->part[JOB_HEADER] = self->origin->header;
    for (size_t i = 0; i < self->frames; i++) {
        zmq_msg_t *kept = &self->frame[i];
        zmq_msg_t *frame = (zmq_msg_t *)(uintptr_t)&message->frame[first + i];

        if (zmq_msg_size(frame) <= COPY_MAX) {
            CHECK(zmq_msg_init_size(kept, zmq_msg_size(frame)) == 0);
            memcpy(zmq_msg_data(kept), zmq_msg_data(frame), zmq_msg_size(frame));
        } else {
            CHECK(zmq_msg_init(kept) == 0 && zmq_msg_copy(kept, frame) == 0);
        }
        self->part[JOB_METADATA + i] = (struct slice){zmq_msg_data(kept), zmq_msg_size(kept)};
    }
}

/* What a request takes in memory: a million small ones are a gigabyte, too. */
static size_t memory_of(const struct job *self)
{
    size_t bytes = sizeof *self;

    for (size_t i = 0; i < self->parts; i++) {
        bytes += self->part[i].n + PART_COST;
    }
    return bytes;
}

/* -> NULL, or what is to be said of a request that is larger than the door. */
static char *check_size(const struct job *self)
{
    struct buffer text = BUFFER_INIT;
    char *result = NULL;
    uint64_t size;

    if (link_parts_size(self->part, self->parts, &size) < 0) {
        buffer_put_slice(&text, self->origin->type);
        buffer_put_text(&text, ": more than 2 GiB in all");
        buffer_put_char(&text, '\0');
        result = xstrdup((const char *)text.p);
    }
    buffer_release(&text);
    return result;
}

struct job *job_new(const struct wire_message *message, struct origin *origin, enum job_kind kind)
{
    size_t frames = message->frames - message->first_buffer + JOB_FIRST_BUFFER - JOB_METADATA;
    struct job *self = xcalloc(1, sizeof *self + frames * sizeof self->frame[0]);

    self->origin = origin_ref(origin);
    self->kind = kind;
    self->arrived_us = clock_us(CLOCK_MONOTONIC);
    self->frames = frames;
    self->parts = JOB_METADATA + frames;
    self->part = xcalloc(self->parts, sizeof *self->part);
    keep_parts(self, message);
    self->bytes = memory_of(self);
    self->invalid = check_size(self);
    return self;
}

void job_destroy(struct job **self_p)
{
    struct job *self = *self_p;

    *self_p = NULL;
    if (self) {
        for (size_t i = 0; i < self->frames; i++) {
            (void)zmq_msg_close(&self->frame[i]);
        }
        origin_unref(&self->origin);
        free(self->invalid);
        free(self->part);
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
                  "\"einkorn\":{\"waited_us\":%" PRId64 ",\"ran_us\":%" PRId64,
                  job->started, kernel->session.id, job->started_us - job->arrived_us,
                  clock_us(CLOCK_MONOTONIC) - job->started_us);
    if (facts.n > 2) {
        buffer_put_char(metadata, ',');
        buffer_put(metadata, facts.p + 1, facts.n - 2);
    }
    buffer_printf(metadata, "},\"status\":\"%s\"}", status);
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

    if (job->invalid || json_object_get_int(job->part[JOB_CONTENT], "cursor_pos", 0, &at) < 0 ||
        at < 0) {
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
