#ifndef KERNEL_OUTPUT_H
#define KERNEL_OUTPUT_H

/*
 * Text on its way to `stream` messages (Messaging spec, "Streams").
 *
 * Text comes from two sources, records of the worker and bytes of the pipes,
 * already in order. It is gathered here while it goes to the same stream of
 * the same request, and leaves as one message when something else comes, when
 * OUTPUT_CHUNK characters are there, or OUTPUT_DELAY_MS after its first
 * character. Each stream of a request is bounded: past the bound one marker is
 * published, and at the request's end the last OUTPUT_TAIL characters.
 */

#include "bridge/utf8.h"
#include "kernel/iopub.h"
#include "kernel/origin.h"

enum {
    OUTPUT_CHUNK = 64000, /* characters of one message */
    OUTPUT_DELAY_MS = 25, /* how long text waits for more */
    OUTPUT_TAIL = 20000,  /* characters kept of what the bound cut off */
};

struct output {
    struct iopub *iopub;         /* not owned */
    size_t bound;                /* characters per stream and request; 0: none */
    struct origin *origin;       /* whose text is gathered; NULL: none is */
    int stream;                  /* 0: stdout, 1: stderr */
    struct buffer text;          /* gathered, valid UTF-8 */
    size_t characters;           /* of text */
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

/* True while text waits: a timer must call output_flush within OUTPUT_DELAY_MS. */
bool output_waits(const struct output *self);

#endif
