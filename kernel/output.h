#ifndef KERNEL_OUTPUT_H
#define KERNEL_OUTPUT_H

/*
 * Text on its way to `stream` messages (Messaging spec, "Streams").
 *
 * Text comes from two sources, records of the worker and bytes of the pipes,
 * already in order. It is gathered here while it goes to the same stream of
 * the same request, and leaves as one message when something else comes, when
 * there is a chunk of it, or when it is due. Clients pay for each message by the
 * length of all the text that the cell has had, so both grow with what the
 * request had lately: the chunk from OUTPUT_CHUNK to OUTPUT_CHUNK_MAX, the time
 * between two messages from OUTPUT_DELAY_MS to OUTPUT_SPACING_MAX_MS. The first
 * text after a pause is due after OUTPUT_DELAY_MS, whatever was before.
 *
 * Text that a later carriage return overwrites is dropped while it waits
 * (overwritten.h).
 *
 * Each stream of a request is bounded, in characters that are not overwritten
 * (bridge/visible.h): past the bound one marker is published, and at the
 * request's end the last OUTPUT_TAIL characters. Overwritten text that was
 * published counts nothing, but only at the speed of progress bars; a flood of it
 * is cut like any other.
 */

#include "bridge/utf8.h"
#include "kernel/iopub.h"
#include "kernel/origin.h"
#include "kernel/pace.h"

enum {
    OUTPUT_CHUNK = 128000,              /* characters of one message, at first */
    OUTPUT_CHUNK_MAX = 512000,          /* and at most */
    OUTPUT_DELAY_MS = 25,               /* how long text waits for more, at first */
    OUTPUT_SPACING_MAX_MS = 500,        /* from one message of a flood to the next */
    OUTPUT_RECENT_PER_SEC = 200000,     /* characters that a second makes forget */
    OUTPUT_TAIL = 20000,                /* characters kept of what the bound cut off */
    OUTPUT_OVERWRITTEN_PER_SEC = 50000, /* published characters that count nothing */
    /*
     * jupyter_server drops messages when there are more than 3,000 in 3 s. So many at
     * once and so many a second thereafter stay below it.
     */
    OUTPUT_MESSAGES = 300,
    OUTPUT_MESSAGES_PER_SEC = 900,
    OUTPUT_OWN_MESSAGES = 50, /* a request with so few is not held up for what others did */
};

struct output {
    struct iopub *iopub;         /* not owned */
    size_t bound;                /* characters per stream and request; 0: none */
    struct origin *origin;       /* whose text is gathered; NULL: none is */
    int stream;                  /* 0: stdout, 1: stderr */
    struct buffer text;          /* gathered, valid UTF-8 */
    size_t characters;           /* of text */
    bool returns;                /* text has a carriage return that was not looked at */
    int64_t due_us;              /* when text leaves, CLOCK_MONOTONIC */
    int64_t flushed_us;          /* when the last text of this request left */
    uint64_t recent_of;          /* the request that `recent` and `flushed_us` are about */
    struct pace recent;          /* characters published */
    struct pace messages;        /* stream messages published */
    size_t own_messages;         /* of them: this request's */
    struct utf8_decoder pipe[2]; /* characters split over reads of fd 1, fd 2 */
    struct origin *pipe_origin;  /* who the kept-back bytes belong to */
    struct buffer decoded;       /* scratch */
};

void output_init(struct output *self, struct iopub *iopub, size_t bound);
void output_release(struct output *self);

/* Text of a stream of a request. Bytes that are no UTF-8 become U+FFFD. */
void output_text(struct output *self, struct origin *origin, int stream, struct slice text);

/* Bytes of fd 1 or fd 2, in any pieces. origin: the request that ran last. */
void output_pipe(struct output *self, struct origin *origin, int stream, struct slice bytes);

/* Publishes what is gathered. Before every other message, and by timer. */
void output_flush(struct output *self);

/* The request is done: flushes, and publishes the tails of what was cut. */
void output_finish(struct output *self, struct origin *origin);

/* True while text waits: a timer must call output_flush when it is due. */
bool output_waits(const struct output *self);

/* Milliseconds until the text that waits is due, rounded up; 0: now. */
size_t output_due_ms(const struct output *self);

/* More stream messages were published lately than a server passes on, by this request too. */
bool output_is_fast(const struct output *self);

#endif
