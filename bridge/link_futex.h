#ifndef BRIDGE_LINK_FUTEX_H
#define BRIDGE_LINK_FUTEX_H

/*
 * Sleeping until a word changes, between threads and between processes, and a
 * lock made of it. Internal to the door. Linux only: another system brings its
 * own link_futex.c.
 */

#include "bridge/link.h"

/*
 * Sleeps while *word == seen. Wakes up at times for no reason: callers look
 * again. -> 0, -EINTR: a signal handler ran.
 */
int link_futex_wait(_Atomic uint32_t *word, uint32_t seen);

/* Wakes everybody who sleeps on word. */
void link_futex_wake(_Atomic uint32_t *word);

bool link_lock_try(struct link_lock *self);

/* Waits for the lock. -> 0: it is ours, -EINTR: a signal handler ran, it is not. */
int link_lock_wait(struct link_lock *self);

void link_lock_release(struct link_lock *self);

/*
 * What a waiting thread holds: the GIL, until it has to wait for the first
 * time. Both functions may be called again and again.
 */
struct link_hold {
    const struct link_wait *wait; /* NULL: nothing is held */
    void *state;
    bool released;
};

static inline void link_hold_release(struct link_hold *self)
{
    if (self->wait != NULL && !self->released) {
        self->state = self->wait->release();
        self->released = true;
    }
}

/* -> 0, nonzero: give up (only if interrupted). */
static inline int link_hold_resume(struct link_hold *self, bool interrupted)
{
    if (self->wait == NULL || !self->released) {
        return 0;
    }
    self->released = false;
    int r = self->wait->resume(self->state, interrupted);
    return interrupted ? r : 0;
}

#endif
