#ifndef KERNEL_PACE_H
#define KERNEL_PACE_H

/*
 * How much there was lately: a bucket with a hole. What is put in raises the
 * level, time lowers it. The caller says what time it is.
 */

#include <stddef.h>
#include <stdint.h>

struct pace {
    size_t level;   /* at at_us */
    int64_t at_us;  /* CLOCK_MONOTONIC; of the last change */
    size_t per_sec; /* runs out in a second */
};

/* The level now. */
size_t pace_level(const struct pace *self, int64_t now_us);

/* Puts so much in. */
void pace_add(struct pace *self, int64_t now_us, size_t amount);

#endif
