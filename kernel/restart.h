#ifndef KERNEL_RESTART_H
#define KERNEL_RESTART_H

/*
 * A new worker in the place of one that died (--on-death restart). For clients
 * it is a restart as servers do it: `restarting`, a new session id, `starting`,
 * idle, counters from the beginning.
 */

struct kernel;

enum {
    RESTART_TELL_MS = 200, /* a client is done with the cell's reply before it hears of it */
};

/* The worker is gone and its cell is answered. Cells wait until clients have been told. */
void restart_in_place(struct kernel *kernel);

/* Kills and reaps what is left of the dead worker's group, without waiting for it to react. */
void restart_release(struct kernel *kernel);

#endif
