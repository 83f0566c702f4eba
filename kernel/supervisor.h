#ifndef KERNEL_SUPERVISOR_H
#define KERNEL_SUPERVISOR_H

/*
 * The worker process: its spawn, its signals, its end. Linux: pidfd, /proc.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bridge/buffer.h"
#include "bridge/link.h"
#include "kernel/paths.h"

struct supervisor_options {
    const char *python;    /* the environment's bin/python */
    const char *libpython; /* NULL: the launcher asks Python; "": the stock interpreter */
    size_t max_output;     /* characters per stream and cell; 0: no bound */
    const char *settings;  /* for its Python half, see bridge/runner.h; NULL: none */
    uint64_t memory_limit; /* bytes of RLIMIT_DATA, for it and each child; 0: as it is */
};

struct supervisor {
    pid_t pid;                 /* 0: never spawned, or reaped */
    int pidfd;                 /* readable when the worker has ended */
    uint64_t interrupt;        /* number of the request that is being interrupted; 0: none */
    uint64_t interrupt_serial; /* interrupts asked for so far */
    bool interrupt_group;      /* this one is for the other processes of the group too */
    struct buffer interrupted; /* pid_t of each other process that has had this interrupt */
};

/*
 * Starts the worker at the other end of `door`: leader of its own session and
 * group, SIGINT blocked, other signals at their defaults, fd 0 from /dev/null.
 * Takes fds and stdio: they are closed here in any case. -> 0, -errno.
 */
int supervisor_spawn(struct supervisor *self, const struct paths *paths,
                     const struct supervisor_options *options, struct link_fds *fds, int stdio[2]);

/*
 * Asks that the request with that number be interrupted: the number into the
 * shared page, SIGINT to the worker's main thread and, with `group`, to every
 * other process of its group. Call supervisor_interrupt_again every SUPERVISOR_REPEAT_MS
 * while supervisor_interrupt_waits.
 */
enum { SUPERVISOR_REPEAT_MS = 100 };
void supervisor_interrupt(struct supervisor *self, struct link_page *page, uint64_t number,
                          bool group);

/* -> true: the worker has not taken it up yet, and the request that it is meant for still runs. */
bool supervisor_interrupt_waits(struct supervisor *self, const struct link_page *page,
                                uint64_t running);

/*
 * There is a worker: sends the signal once more; to other processes only if they are new, since
 * each is interrupted once.
 */
void supervisor_interrupt_again(struct supervisor *self);

/* Sends a signal to every process of the worker's group, the worker too. */
void supervisor_signal_group(const struct supervisor *self, int signal);

/* Sends a signal to the other processes of the worker's group. */
void supervisor_signal_others(const struct supervisor *self, int signal);

/* Living processes of the group, without the worker itself. */
size_t supervisor_others(const struct supervisor *self);

/* Waits for the worker's end, reaps it and forgets it. */
void supervisor_reap(struct supervisor *self);

#endif
