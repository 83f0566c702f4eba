#ifndef KERNEL_JOB_H
#define KERNEL_JOB_H

/*
 * A request that Python answers: what it asks for, what has to happen to it,
 * and how its reply looks. Jobs wait in a lane (lane.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/slice.h"
#include "kernel/origin.h"
#include "kernel/wire.h"

struct kernel;

enum job_kind {
    JOB_EXECUTE,  /* shows its code, counts, is aborted after an error */
    JOB_COMPLETE, /* of what the user types now: a newer one, or a cell, makes it pointless */
    JOB_ASK,      /* any other request with a reply */
    JOB_COMM,     /* a comm message: no reply */
};
enum { JOB_KINDS = JOB_COMM + 1 };

/* What the worker gets of a request: the parts of a LINK_SHELL request. */
enum { JOB_TYPE, JOB_HEADER, JOB_METADATA, JOB_CONTENT, JOB_FIRST_BUFFER };

/* Heap; the slices point into the origin and into `frame`. */
struct job {
    struct job *next;
    struct origin *origin;
    enum job_kind kind;
    char *invalid; /* not NULL: why it cannot run; it only gets its reply, in its turn */
    bool begun;    /* busy is published: Python has taken it up */
    bool awaits;   /* a cell whose coroutine runs: comm messages need not wait for the next cell */

    bool silent;        /* JOB_EXECUTE, as the next ones */
    bool store_history; /* and not silent, and the code not blank: the count advances */
    bool stop_on_error;
    uint32_t count;     /* what the cell shows, once it runs */
    int64_t arrived_us; /* CLOCK_MONOTONIC */
    int64_t started_us; /* the same; when it was handed to Python, or refused */
    char started[40];   /* that moment, ISO 8601 */
    struct slice code;  /* raw JSON string */

    struct slice *part; /* see above */
    size_t parts;
    size_t frames;
    size_t bytes;      /* of memory, about */
    zmq_msg_t frame[]; /* of metadata, content and buffers */
};

/*
 * Keeps the message's frames, of which ZeroMQ shares the large ones instead of copying
 * them, and a reference of origin. A request of more than the door takes is invalid.
 */
struct job *job_new(const struct wire_message *message, struct origin *origin, enum job_kind kind);
void job_destroy(struct job **self_p);

/* Notes the time of now as the one it was started at. */
void job_start(struct job *self);

/*
 * Sends the reply. `members` is what follows the opening brace of its content,
 * with the closing one; an execute_reply gets `count` in front of it, and metadata
 * with its times. The members of `facts`, a JSON object,
 * go into its `einkorn`.
 */
void job_reply(struct kernel *kernel, const struct job *job, uint32_t count, const char *status,
               struct slice members, struct slice facts);

/*
 * Ends a job that never reached Python, with busy, a reply and idle, and frees
 * it: it is wrong (ename, evalue), or not wanted any more (NULL: aborted, or, of
 * a completion, without matches).
 */
void job_refuse(struct kernel *kernel, struct job **self_p, uint32_t count, const char *ename,
                const char *evalue);

#endif
