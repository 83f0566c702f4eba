#ifndef KERNEL_WORKER_DEATH_H
#define KERNEL_WORKER_DEATH_H

/*
 * A worker that died although nobody wanted its end: who is told what, and what
 * becomes of the kernel.
 */

#include "kernel/death.h"
#include "kernel/origin.h"

struct kernel;

enum {
    DEATH_SETTLE_MS = 1000,  /* the kernel's own SIGTERM within this time makes it a shutdown */
    DEATH_SOON_MS = 10000,   /* after its start: a death that restarting does not help */
    DEATH_SOON_MAX = 3,      /* so many of them in a row end the kernel */
    DEATH_FD2_MAX = 8 << 10, /* bytes kept of what came on fd 2, for the cause */
};

/*
 * The cell that ran gets an `error` and its reply with cause and details, other
 * requests an error reply; where no cell ran the last one gets them on stderr.
 * Queued cells are aborted, comms closed. Then a new worker takes its place, or
 * the kernel lingers DEATH_SETTLE_MS and ends as the worker did, by --on-death.
 */
void worker_death(struct kernel *kernel, const struct death *death);

/* The death has proved to be part of a shutdown: no report of it is kept. */
void worker_death_was_shutdown(struct kernel *kernel);

/* Writes what is known of a death that is certain now; again: nothing. */
void worker_death_settle(struct kernel *kernel);

/* Bytes of fd 2 passed: their end is kept, for an abort() that says why. */
void worker_death_note_fd2(struct kernel *kernel, struct slice bytes);

/* Tells the first cell what became of the kernel before this one, if there is something to tell. */
void worker_death_tell_notice(struct kernel *kernel, struct origin *cell);

#endif
