#ifndef KERNEL_STOP_H
#define KERNEL_STOP_H

/*
 * The end of a kernel, wanted or not.
 *
 * Wanted: no new request, an interrupt for the running one, the end of the
 * request socket, upon which Python finishes and runs its atexit handlers.
 * STOP_CHILDREN_MS after the start the worker's children get SIGTERM, after
 * STOP_CELL_MS a cell that still runs is given up, and after STOP_HARD_MS
 * everything is killed. A worker that ends by SIGTERM was told to by somebody
 * who wants the end of all of it. Not wanted: worker_death.h.
 * In all cases nothing of the worker's group is left running.
 */

#include <stdbool.h>

struct kernel;
struct supervisor;

enum {
    STOP_CHILDREN_MS =
        400, /* until what the cells started is told to end: Python may wait for it */
    STOP_CELL_MS = 800,
    STOP_HARD_MS = 1900,
    STOP_GROUP_MS = 300, /* from SIGTERM to SIGKILL for what is left of the group */
    STOP_EXIT_MS = 1000, /* how long the process stays after exit(), unless it is told to end */
    STOP_TICK_MS = 10,
};

/* Begins the end; again: nothing. `exit_status` is the process's. */
void stop_begin(struct kernel *kernel, int exit_status);

/*
 * Begins it because a cell called exit(). A console looks whether the kernel
 * lives before it reads in the reply that it shall leave, so the process stays
 * for STOP_EXIT_MS, or until somebody wants its end.
 */
void stop_by_exit(struct kernel *kernel);

/* Begins it without a request: all clients get a shutdown_reply. */
void stop_announce(struct kernel *kernel);

/*
 * Ends what is left of a dead worker's group: SIGTERM, unless it was `told` by
 * the worker itself, and SIGKILL STOP_GROUP_MS later. To be called every STOP_TICK_MS; *since_ms,
 * CLOCK_MONOTONIC, is 0 at first.
 * -> true: nothing is left.
 */
bool stop_group(const struct supervisor *supervisor, bool told, long long *since_ms);

/* Content of shutdown_reply. Static. */
const char *stop_reply(bool restart);

/* The worker has ended: its pidfd says so. */
void stop_worker_gone(struct kernel *kernel);

#endif
