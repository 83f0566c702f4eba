#ifndef KERNEL_DEATH_H
#define KERNEL_DEATH_H

/*
 * How the worker ended, and what is known about it, in words for the user.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "bridge/buffer.h"
#include "kernel/memory_group.h"

struct death {
    pid_t pid;
    int outcome;        /* the exit status, or the negative number of the signal */
    const char *reason; /* why the kernel itself ended it, not owned; NULL: it did not */
    bool in_cell;       /* a cell was running */
    long long ran_ms;   /* for how long it had run */
    uint64_t peak;      /* most memory the process had, or the largest child that it waited for */
    int64_t cpu_ms;     /* CPU time, with the children's that it waited for */
    struct rlimit cpu_limit, memory_limit; /* RLIMIT_CPU, RLIMIT_AS; rlim_cur RLIM_INFINITY: none */
    struct memory_group before, after;     /* when the worker started, and now */
    struct buffer fd2;   /* the end of what came on fd 2 while the cell ran, or before READY */
    struct buffer words; /* what the worker's own handlers said, as in bridge/fatal.h */
};

/*
 * Looks at a child that has ended, without reaping it: fills in outcome, peak,
 * cpu_ms and the limits; all else is zero and the caller's to fill in.
 */
void death_init(struct death *self, pid_t pid);
void death_release(struct death *self);

/* Takes what lies in the side pipe. Bounded. */
void death_read_words(struct death *self, int side_fd);

/*
 * Appends the cause, without a NUL: "Python was killed by SIGSEGV (segmentation
 * fault): a null pointer was used". One line.
 */
void death_put_cause(const struct death *self, struct buffer *ret_text);

/*
 * Appends the rest, with a NUL, lines: Python stacks and native stack at the moment of
 * death where it could leave any, peak memory, CPU time, the limits, the cell's time.
 */
void death_put_details(const struct death *self, struct buffer *ret_text);

/* SIGTERM: somebody wants the end, and this is no accident. */
bool death_was_wanted(const struct death *self);

#endif
