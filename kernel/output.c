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

#include "bridge/clock.h"
#include "kernel/overwritten.h"

enum { TEXT_KEPT = 64 << 10 }; /* bytes of room that stay allocated */

void output_init(struct output *self, struct iopub *iopub, size_t bound)
{
    memset(self, 0, sizeof *self);
    self->iopub = iopub;
    self->bound = bound;
    self->recent.per_sec = OUTPUT_RECENT_PER_SEC;
    self->messages.per_sec = OUTPUT_MESSAGES_PER_SEC;
}

void output_release(struct output *self)
{
    origin_unref(&self->origin);
    origin_unref(&self->pipe_origin);
    buffer_release(&self->text);
    buffer_release(&self->decoded);
}

/* ---- when text leaves ------------------------------------------------------ */

bool output_waits(const struct output *self)
{
    return self->text.n > 0;
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Characters at which the text leaves. */
static size_t chunk(const struct output *self)
{
    size_t grown = 2 * self->recent.level;

    return grown < OUTPUT_CHUNK ? OUTPUT_CHUNK : at_most(grown, OUTPUT_CHUNK_MAX);
}

/* The first text of a message is there: when must it leave? */
static void set_due(struct output *self)
{
    int64_t now_us = clock_us(CLOCK_MONOTONIC), spaced_us;
    size_t spacing_ms = OUTPUT_DELAY_MS + pace_level(&self->recent, now_us) / 250;

    spaced_us = self->flushed_us + (int64_t)at_most(spacing_ms, OUTPUT_SPACING_MAX_MS) * 1000;
    self->due_us = now_us + (int64_t)OUTPUT_DELAY_MS * 1000;
    if (self->due_us < spaced_us) {
        self->due_us = spaced_us;
    }
}

size_t output_due_ms(const struct output *self)
{
    int64_t left_us = self->due_us - clock_us(CLOCK_MONOTONIC);

    return left_us > 0 ? (size_t)(left_us + 999) / 1000 : 0;
}

bool output_is_fast(const struct output *self)
{
    return self->own_messages > OUTPUT_OWN_MESSAGES && self->messages.level > OUTPUT_MESSAGES &&
           pace_level(&self->messages, clock_us(CLOCK_MONOTONIC)) > OUTPUT_MESSAGES;
}

/* ---- gathering ---------------------------------------------------------------- */

/* What was published counts: for the size of the next message, and for the bound. */
static void count_published(struct output *self)
{
    self->flushed_us = clock_us(CLOCK_MONOTONIC);
    pace_add(&self->recent, self->flushed_us, self->characters);
    pace_add(&self->messages, self->flushed_us, 1);
    self->own_messages++;
    if (self->origin) {
        struct output_quota *quota = &self->origin->quota[self->stream];

        quota->since_us = quota->since_us ? quota->since_us : self->flushed_us;
        quota->published += self->characters;
    }
}

static void drop_overwritten(struct output *self)
{
    if (self->returns) {
        overwritten_drop(&self->text);
        self->characters = utf8_count(buffer_slice(&self->text));
        self->returns = false;
    }
}

void output_flush(struct output *self)
{
    if (self->text.n > 0) {
        drop_overwritten(self);
        iopub_stream(self->iopub, self->origin, self->stream, buffer_slice(&self->text));
        count_published(self);
    }
    buffer_clear(&self->text);
    if (self->text.size > TEXT_KEPT) {
        buffer_release(&self->text);
    }
    self->characters = 0;
    origin_unref(&self->origin);
}

/* The text is of this request and stream from now on. */
static void begin(struct output *self, struct origin *origin, int stream)
{
    uint64_t number = origin ? origin->number : 0;

    if (self->recent_of != number) {
        self->recent_of = number;
        self->recent.level = 0;
        self->own_messages = 0;
        self->flushed_us = 0;
    }
    self->origin = origin ? origin_ref(origin) : NULL;
    self->stream = stream;
    set_due(self);
}

/* A chunk is there, unless half of it is overwritten text. */
static void flush_chunk(struct output *self)
{
    size_t full = chunk(self);

    if (self->characters >= full) {
        drop_overwritten(self);
        if (self->characters >= full / 2) {
            output_flush(self);
        }
    }
}

/* Appends text that may be published, and publishes each full chunk. */
static void gather(struct output *self, struct origin *origin, int stream, struct slice text)
{
    if (text.n > 0 && (self->origin != origin || self->stream != stream)) {
        output_flush(self);
    }
    while (text.n > 0) {
        size_t take = utf8_prefix(text, chunk(self) - self->characters);
        struct slice part = {text.p, take};

        if (self->text.n == 0) {
            begin(self, origin, stream);
        }
        buffer_put_slice(&self->text, part);
        self->characters += utf8_count(part);
        self->returns = self->returns || memchr(part.p, '\r', part.n);
        text.p += take;
        text.n -= take;
        flush_chunk(self);
    }
}

/* ---- the bound -------------------------------------------------------------------- */

static void keep_tail(struct output_quota *quota, struct slice text)
{
    quota->dropped += utf8_count(text);
    buffer_put_slice(&quota->tail, text);
    /* Trimmed only when it is well over, so that a flood of lines is not moved for each line. */
    if (quota->tail.n > (size_t)OUTPUT_TAIL * 8) {
        buffer_drop_front(&quota->tail, utf8_suffix(buffer_slice(&quota->tail), OUTPUT_TAIL));
    }
}

/* More overwritten text went out than progress bars write. */
static bool is_flood(const struct output_quota *quota, size_t bound)
{
    uint64_t passed_us;

    if (quota->published <= bound) {
        return false;
    }
    passed_us = (uint64_t)(clock_us(CLOCK_MONOTONIC) - quota->since_us);
    return quota->published - bound > passed_us * OUTPUT_OVERWRITTEN_PER_SEC / 1000000;
}

/* How much of the text may still be published. */
static size_t within_bound(const struct output *self, struct output_quota *quota, struct slice text)
{
    if (quota->dropped > 0 || is_flood(quota, self->bound)) {
        return 0;
    }
    return visible_take(&quota->visible, text, self->bound);
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
    take = within_bound(self, quota, text);
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
