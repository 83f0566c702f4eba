#ifndef BRIDGE_RUNNER_H
#define BRIDGE_RUNNER_H

/*
 * What the launcher tells the runner, a library that it has loaded. In the
 * second way in, where the stock interpreter imports the runner, the same
 * five texts come as arguments: see launcher_stock in launcher.c.
 */

struct runner_config {
    const char *fds;        /* the worker's ends of the door, as link_fds_format writes them;
                               RUNNER_FRAMES: none, and of the rest only `library` counts */
    const char *kernel_pid; /* decimal */
    const char *library;    /* the directory in which the package `einkorn` lies */
    const char *max_output; /* characters per stream and cell, decimal; "0": no bound */
    const char *settings;   /* for the Python half: lines "name=value" */
};

/* A worker of `einkorn frames`. */
#define RUNNER_FRAMES "frames"

#define RUNNER_EXPORT __attribute__((visibility("default")))

/*
 * To be called before Python starts. Keeps the pointers.
 * -> 0, -EINVAL: a text is not what it should be, -ESRCH: that kernel is gone.
 */
RUNNER_EXPORT int einkorn_runner_configure(const struct runner_config *config);

#endif
