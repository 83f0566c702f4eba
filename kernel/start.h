#ifndef KERNEL_START_H
#define KERNEL_START_H

/*
 * What is done before the kernel itself is loaded, so that Python boots while
 * ZeroMQ and all that it needs are looked for and linked: see start.c.
 */

#include "bridge/link.h"
#include "kernel/options.h"
#include "kernel/parent_watch.h"
#include "kernel/paths.h"
#include "kernel/supervisor.h"

/* Everything in it goes to kernel_run, which takes it. */
struct start {
    char *python; /* the Python that runs the cells */
    struct paths paths;
    int signal_fd; /* signals.h */
    struct parent_watch parents;
    struct link_consumer door;
    struct supervisor supervisor;
    int worker; /* 0; -errno: there is none */
};

/*
 * Blocks signals, raises the limit of open files, and spawns the worker. That this
 * fails is for kernel_run to tell the clients; that a kernel cannot be at all is logged.
 * -> 0 or the exit status of the process.
 */
int start_init(struct start *self, const struct options *options);

/* Ends a worker that no kernel_run has taken. */
void start_release(struct start *self);

/*
 * Makes a door and spawns a worker at its other end. -> 0, -errno: `ret_door` is
 * initialised all the same, and `ret_supervisor` has no process.
 */
int start_worker(const struct options *options, const struct paths *paths, const char *python,
                 struct link_consumer *ret_door, struct supervisor *ret_supervisor);

#endif
