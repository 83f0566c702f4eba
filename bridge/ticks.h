#ifndef BRIDGE_TICKS_H
#define BRIDGE_TICKS_H

/*
 * A clock that is cheap to read, in units of its own: for comparing short
 * times with each other, on one thread. It may jump; then a difference is huge.
 */

#include <stdint.h>
#include <time.h>

static inline uint64_t ticks_now(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

#endif
