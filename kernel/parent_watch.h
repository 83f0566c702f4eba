#ifndef KERNEL_PARENT_WATCH_H
#define KERNEL_PARENT_WATCH_H

/*
 * The processes that started the kernel: when one of them goes, the kernel goes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    PARENT_WATCH_MAX = 8,
    PARENT_WATCH_DOUBT_MS = 15 * 1000, /* how long a kernel in doubt waits for a first request */
};

struct parent_watch {
    pid_t parent; /* our parent when the watch was initialised */
    int fd[PARENT_WATCH_MAX];
    size_t count;
    bool in_doubt; /* the process that should have started us is not there */
};

/* Notes who our parent is: as early as can be, see parent_watch_open. */
void parent_watch_init(struct parent_watch *self);

/*
 * Opens pidfds, which become readable when their process ends: of the process
 * that JPY_PARENT_PID names and, if it is an ancestor, of all between it and us
 * (a shell, `conda run`): to whoever started a wrapper, the wrapper is the kernel.
 * A number that cannot be right (no such process, one of another namespace, one
 * younger than we are) is ignored with a log line, and our own parent is watched
 * instead. But the same is seen by a kernel whose starter died before it could
 * look: so it is in doubt, and should end if nobody speaks to it within
 * PARENT_WATCH_DOUBT_MS. `text` is the variable's value; NULL or "": a kernel that outlives its
 * starter by intention, and nobody is watched.
 * -> 0, or -ESRCH: our parent has ended since parent_watch_init, or did just now.
 */
int parent_watch_open(struct parent_watch *self, const char *text);

void parent_watch_release(struct parent_watch *self);

#endif
