#ifndef KERNEL_TIME_LIMIT_H
#define KERNEL_TIME_LIMIT_H

/*
 * How long the request that is with Python may take.
 *
 * A cell has the time that --cell-timeout gives, and the handler of a comm message
 * that of --comm-timeout, or else the cell's; waiting for input counts. Then it is
 * interrupted, which its stderr tells, and where it has not ended
 * TIME_LIMIT_GRACE_MS later, the worker is killed with its children. Completion and the other
 * look-ups, which run the code of the user's objects, have TIME_LIMIT_LOOKUP_MS and are interrupted
 * then, and again each time that long until they end; they are not worth a kill.
 */

#include <stdbool.h>
#include <stdint.h>

struct kernel;
struct job;

enum {
    TIME_LIMIT_LOOKUP_MS = 5000,
    TIME_LIMIT_GRACE_MS = 7000, /* 2 s until the stuck report, and 5 s to read it */
};

struct time_limit {
    bool running;         /* the timer is */
    int timer;            /* of zloop */
    bool interrupted;     /* the limit is over, the grace runs */
    char why_killed[160]; /* after the grace: for the death report */
};

/* The job is with Python from now on. */
void time_limit_start(struct kernel *kernel, const struct job *job);

/* It has ended. Does nothing where no limit was. */
void time_limit_stop(struct kernel *kernel);

#endif
