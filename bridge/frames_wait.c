/*
 * Waiting: see frames_wait.h. A host that answers at once is heard at once: to fall
 * asleep and be woken takes longer than a small cell or a host call. Between two looks
 * the processor is the host's, if there is no other. Worker, any Python thread; owns nothing.
 */

#include "bridge/frames_wait.h"

#include <poll.h>
#include <sched.h>

#include "bridge/clock.h"

int frames_wait(int fd, const sigset_t *mask)
{
    const struct timespec at_once = {0, 0};
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t end = clock_us(CLOCK_MONOTONIC) + FRAMES_WATCH_US;
    int n = ppoll(&ready, 1, &at_once, mask);
    while (n == 0 && clock_us(CLOCK_MONOTONIC) < end) {
        (void)sched_yield();
        n = ppoll(&ready, 1, &at_once, mask);
    }
    return n == 0 ? ppoll(&ready, 1, NULL, mask) : n;
}
