/*
 * Waiting: see frames_wait.h. A host that answers at once is heard at once: to fall
 * asleep and be woken takes longer than a small cell or a host call. Between two looks
 * the processor is the host's, if there is no other. Worker, any Python thread; owns nothing.
 */

#include "bridge/frames_wait.h"

#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int frames_wait(int fd, const sigset_t *mask)
{
    const struct timespec at_once = {0, 0};
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t end = now_us() + FRAMES_WATCH_US;
    int n = ppoll(&ready, 1, &at_once, mask);
    while (n == 0 && now_us() < end) {
        (void)sched_yield();
        n = ppoll(&ready, 1, &at_once, mask);
    }
    return n == 0 ? ppoll(&ready, 1, NULL, mask) : n;
}
