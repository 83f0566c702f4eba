#ifndef KERNEL_STUCK_H
#define KERNEL_STUCK_H

/*
 * The stuck report: an interrupt that Python has not reacted to within
 * STUCK_AFTER_MS (a long call into C code) is told in the request's stderr,
 * with where Python is and what the process does. A further interrupt tells it
 * anew, at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/buffer.h"

struct kernel;

enum {
    STUCK_AFTER_MS = 2000,
    STUCK_STACKS_MS = 500, /* how long the stacks are waited for */
};

struct stuck {
    uint64_t request;     /* whose interrupt is waited for; 0: none */
    long long since_ms;   /* when the first that is not reacted to was sent */
    int64_t cpu_ms;       /* the worker's CPU time then; -1: unknown */
    bool told;            /* a notice is out */
    bool wanted;          /* another one is asked for */
    long long asked_ms;   /* when the stacks were asked for; 0: not asked */
    struct buffer stacks; /* what has come of them */
};

void stuck_release(struct stuck *self);

/* The running request is being interrupted. */
void stuck_interrupted(struct kernel *kernel, uint64_t request);

/*
 * One tick of the interrupt's timer; `waits`: Python has not reacted yet.
 * -> whether it needs the next tick even if nothing else does.
 */
bool stuck_tick(struct kernel *kernel, bool waits);

#endif
