/*
 * Gathers stream text into messages and bounds it. Runs in the kernel process,
 * on the thread of the zloop. Owns the text that waits.
 *
 * The worker stops sending what is certainly beyond the bound, but the exact
 * cut is made here, because only here both sources of a stream come together:
 * sys.stdout and whatever else writes to fd 1.
 */

#include "kernel/output.h"

#include <stdio.h>

#include "bridge/json_text.h"

static const char *const stream_names[2] = {"stdout", "stderr"};

void output_init(struct output *self, struct iopub *iopub, size_t bound)
{
    memset(self, 0, sizeof *self);
    self->iopub = iopub;
    self->bound = bound;
}

void output_release(struct output *self)
{
    origin_unref(&self->origin);
    origin_unref(&self->pipe_origin);
    buffer_release(&self->text);
    buffer_release(&self->decoded);
}

bool output_waits(const struct output *self)
{
    return self->text.n > 0;
}

void output_flush(struct output *self)
{
    struct buffer content = BUFFER_INIT;

    if (self->text.n > 0) {
        buffer_printf(&content, "{\"name\":\"%s\",\"text\":", stream_names[self->stream]);
        json_put_string(&content, buffer_slice(&self->text));
        buffer_put_char(&content, '}');
        iopub_publish(self->iopub, "stream", self->origin, slice_of("{}"), buffer_slice(&content));
        buffer_release(&content);
    }
    buffer_clear(&self->text);
    self->characters = 0;
    origin_unref(&self->origin);
}

/* Appends text that may be published, and publishes each full chunk. */
static void gather(struct output *self, struct origin *origin, int stream, struct slice text)
{
    if (text.n > 0 && (self->origin != origin || self->stream != stream)) {
        output_flush(self);
    }
    while (text.n > 0) {
        size_t take = utf8_prefix(text, OUTPUT_CHUNK - self->characters);

        if (!self->origin) {
            self->origin = origin ? origin_ref(origin) : NULL;
            self->stream = stream;
        }
        buffer_put(&self->text, text.p, take);
        self->characters += utf8_count((struct slice){text.p, take});
        text.p += take;
        text.n -= take;
        if (self->characters >= OUTPUT_CHUNK) {
            output_flush(self);
        }
    }
}

static void keep_tail(struct output_quota *quota, struct slice text)
{
    quota->dropped += utf8_count(text);
    buffer_put_slice(&quota->tail, text);
    /* Trimmed only when it is well over, so that a flood of lines is not moved for each line. */
    if (quota->tail.n > (size_t)OUTPUT_TAIL * 8) {
        buffer_drop_front(&quota->tail, utf8_suffix(buffer_slice(&quota->tail), OUTPUT_TAIL));
    }
}

/* Valid UTF-8 of one stream of a request, up to its bound and beyond. */
static void bounded(struct output *self, struct origin *origin, int stream, struct slice text)
{
    struct output_quota *quota = origin ? &origin->quota[stream] : NULL;
    char marker[64];
    size_t take;

    if (!quota || self->bound == 0) {
        gather(self, origin, stream, text);
        return;
    }
    take = utf8_prefix(text, self->bound - quota->characters);
    quota->characters += utf8_count((struct slice){text.p, take});
    gather(self, origin, stream, (struct slice){text.p, take});
    text.p += take;
    text.n -= take;
    if (text.n == 0) {
        return;
    }
    if (quota->dropped == 0) {
        (void)snprintf(marker, sizeof marker, "\n...(truncated at %zu characters)", self->bound);
        gather(self, origin, stream, slice_of(marker));
    }
    if (quota->closed) {
        quota->dropped += utf8_count(text);
        return;
    }
    keep_tail(quota, text);
}

void output_text(struct output *self, struct origin *origin, int stream, struct slice text)
{
    struct utf8_decoder whole = {{0}, 0};

    buffer_clear(&self->decoded);
    utf8_decode(&whole, text, &self->decoded);
    utf8_finish(&whole, &self->decoded);
    bounded(self, origin, stream, buffer_slice(&self->decoded));
}

/* An unfinished character of an earlier request's bytes will not be finished any more. */
static void finish_pipes(struct output *self)
{
    for (int stream = 0; stream < 2; stream++) {
        buffer_clear(&self->decoded);
        utf8_finish(&self->pipe[stream], &self->decoded);
        bounded(self, self->pipe_origin, stream, buffer_slice(&self->decoded));
    }
    origin_unref(&self->pipe_origin);
}

void output_pipe(struct output *self, struct origin *origin, int stream, struct slice bytes)
{
    if (self->pipe_origin != origin) {
        finish_pipes(self);
        self->pipe_origin = origin ? origin_ref(origin) : NULL;
    }
    buffer_clear(&self->decoded);
    utf8_decode(&self->pipe[stream], bytes, &self->decoded);
    bounded(self, origin, stream, buffer_slice(&self->decoded));
}

void output_finish(struct output *self, struct origin *origin)
{
    if (self->pipe_origin == origin) {
        finish_pipes(self);
    }
    for (int stream = 0; stream < 2; stream++) {
        struct output_quota *quota = &origin->quota[stream];
        size_t start = utf8_suffix(buffer_slice(&quota->tail), OUTPUT_TAIL);

        if (quota->dropped > 0 && !quota->closed) {
            gather(self, origin, stream,
                   (struct slice){quota->tail.p + start, quota->tail.n - start});
            quota->closed = true;
        }
        buffer_release(&quota->tail);
    }
    output_flush(self);
}
