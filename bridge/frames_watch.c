/*
 * Watching: see frames_watch.h. A host that answers at once is heard at once: to fall
 * asleep and be woken takes longer than a small cell or a host call. Between two looks
 * the processor is the host's, if there is no other. Worker, any Python thread; owns nothing.
 */

#include "bridge/frames_watch.h"

#include <poll.h>
#include <sched.h>

#include "bridge/clock.h"

bool frames_watch(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t end = clock_us(CLOCK_MONOTONIC) + FRAMES_WATCH_US;
    int n = poll(&ready, 1, 0);
    while (n == 0 && clock_us(CLOCK_MONOTONIC) < end) {
        (void)sched_yield();
        n = poll(&ready, 1, 0);
    }
    return n > 0;
}
