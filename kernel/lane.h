#ifndef KERNEL_LANE_H
#define KERNEL_LANE_H

/*
 * The queue of requests for Python, one of which is with it (Messaging spec,
 * "Execute"). A lane runs one at a time, in order of arrival; subshells will
 * have lanes of their own.
 *
 * What comes on control (there, too, a client may ask Python) waits for what
 * runs, and goes before all of shell that waits. It is nobody's next cell, so
 * an error does not abort it.
 *
 * Comm messages go ahead of the others while something runs, as far as no cell
 * stands before them: the worker takes them up when it can, in an await or in
 * process_messages(), and says so (LINK_BEGIN). A cell that awaits may wait for just such a
 * message while the cells after it are queued already, so then none stands before them. Those that
 * it has not taken up when the running request is done follow it, one after another, before all
 * else.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/slice.h"
#include "kernel/abort_window.h"
#include "kernel/ahead.h"
#include "kernel/job.h"
#include "kernel/job_queue.h"
#include "kernel/origin.h"

struct kernel;

/*
 * Bytes of requests that may wait. With more, the shell socket is not read until half of
 * them are gone: what comes stays with ZeroMQ, and then with the clients, whose sending waits.
 */
#define LANE_BYTES_MAX ((size_t)1 << 30)

/* Requests of the queue that are looked at for comm messages that could go ahead. */
enum { LANE_LOOK_MAX = 1024 };

struct lane {
    struct job *current;        /* with Python; its number is origin->number */
    struct job_queue ahead;     /* comm messages with Python, besides */
    struct job_queue queue;     /* those that wait */
    size_t bytes_max;           /* LANE_BYTES_MAX */
    uint32_t next_count;        /* of the next cell that counts; starts at 1 */
    struct abort_window window; /* after an error: requests that are still on their way */
    struct origin *last_cell;   /* that was shown; NULL: none was */
};

void lane_init(struct lane *self);
void lane_release(struct lane *self);

/*
 * Appends a request (takes it), of control before those of shell, and starts it if nothing
 * stands before it. A
 * cell that was sent on shell before the client could know of an error is aborted at
 * once. Completions that wait are dropped for a newer one and for a cell, and
 * one that runs is interrupted for a cell.
 */
void lane_put(struct kernel *kernel, struct job **job_p);

/* Starts what can be started: nothing runs, and Python is ready or will never be. */
void lane_run(struct kernel *kernel);

/*
 * The worker answered: `content` is the reply (without execution_count), status
 * "ok", "error" or "exit". Sends reply and idle; after an error of a cell aborts
 * the cells that were queued (if it wanted that), then starts the next.
 */
void lane_done(struct kernel *kernel, uint64_t number, struct slice content, struct slice metadata,
               struct slice status);

/*
 * The worker cannot answer the current request: it gets an error reply with this
 * text, a cell an `error` message too. `detail`, if not NULL, stands before it in the
 * traceback.
 */
void lane_fail(struct kernel *kernel, const char *ename, const char *evalue, const char *detail);

/* The same for a worker that is dead: the cells that were sent before that are aborted. */
void lane_die(struct kernel *kernel, const char *ename, const char *evalue, const char *detail);

/* All that wait are refused. */
void lane_abort(struct kernel *kernel);

/* The worker has taken a comm message up: its busy, and the word is its until it is done. */
void lane_begin(struct kernel *kernel, uint64_t number);

/* In whose name the worker says what it gives this number: origins_find, for those that run too. */
struct origin *lane_origin(const struct kernel *kernel, uint64_t number);

/* The number of the request that is with Python; 0: none. */
uint64_t lane_running(const struct lane *self);

#endif
