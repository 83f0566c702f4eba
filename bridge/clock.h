#ifndef BRIDGE_CLOCK_H
#define BRIDGE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Microseconds of CLOCK_MONOTONIC or CLOCK_REALTIME. */
static inline int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
