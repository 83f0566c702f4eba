#ifndef KERNEL_LANE_H
#define KERNEL_LANE_H

/*
 * The queue of execute requests, one of which is with Python (Messaging spec,
 * "Execute"). A lane runs one at a time, in order of arrival; subshells will
 * have lanes of their own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/slice.h"
#include "kernel/abort_window.h"
#include "kernel/origin.h"

struct kernel;

/* A request to run code. Heap; the slices point into `bytes`. */
struct execution {
    struct execution *next;
    struct origin *origin;
    char *invalid; /* not NULL: why it cannot run; it only gets its reply, in its turn */
    bool silent;
    bool store_history; /* and not silent, and the code not blank: the count advances */
    bool stop_on_error;
    uint32_t count;     /* what the cell shows, once it runs */
    int64_t arrived_us; /* CLOCK_MONOTONIC */
    char started[40];   /* when it was handed to Python, ISO 8601 */
    struct slice code;  /* raw JSON string */
    struct slice metadata, content;
    size_t buffers;
    struct slice *buffer;
    uint8_t bytes[];
};

/* Copies the message's parts. Takes a reference of origin. */
struct execution *execution_new(const struct wire_message *message, struct origin *origin);
void execution_destroy(struct execution **self_p);

struct lane {
    struct execution *current; /* with Python; its number is origin->number */
    struct execution *first, **last;
    uint32_t next_count;        /* of the next cell that counts; starts at 1 */
    struct abort_window window; /* after an error: requests that are still on their way */
};

void lane_init(struct lane *self);
void lane_release(struct lane *self);

/*
 * Appends a request (takes it) and starts it if nothing stands before it. One
 * that was sent before the client could know of an error is aborted at once.
 */
void lane_put(struct kernel *kernel, struct execution **execution_p);

/* Starts what can be started: nothing runs, and Python is ready or will never be. */
void lane_run(struct kernel *kernel);

/*
 * The worker answered: `content` is the reply without execution_count, status
 * "ok", "error" or "exit". Sends reply and idle; after an error aborts what was
 * queued (if the request wanted that), then starts the next.
 */
void lane_done(struct kernel *kernel, uint64_t number, struct slice content, struct slice metadata,
               struct slice status);

/*
 * The worker cannot answer the current request: it gets an `error` message and
 * an error reply with this text. `detail`, if not NULL, stands before it in the
 * traceback.
 */
void lane_fail(struct kernel *kernel, const char *ename, const char *evalue, const char *detail);

/* All that wait get status "aborted". */
void lane_abort(struct kernel *kernel);

/* The number of the request that is with Python; 0: none. */
uint64_t lane_running(const struct lane *self);

#endif
