#ifndef KERNEL_REFUSALS_H
#define KERNEL_REFUSALS_H

/*
 * The log lines of messages that are dropped or ignored. Whoever can connect can
 * send any number of these, so after REFUSALS_LINES at once no more than one a second
 * is told, with how many more there were.
 */

#include <stdint.h>

#include "kernel/pace.h"

enum { REFUSALS_LINES = 20 };

/* Zero-initialise: nothing was refused yet. */
struct refusals {
    struct pace told; /* lines */
    uint64_t untold;
};

/* Tells of one message, or counts it. `now_us`: CLOCK_MONOTONIC. */
void refusals_tell(struct refusals *self, int64_t now_us, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last line: how many were counted since the last that was told. */
void refusals_tell_rest(struct refusals *self);

#endif
