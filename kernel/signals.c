/*
 * Signals as events. Runs in the kernel process, on the thread of the zloop.
 */

#include "kernel/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bridge/clock.h"
#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/stop.h"

/* Between two signals of one hand, on a busy machine. */
enum { SIGNALS_SAME_HAND_US = 100 * 1000 };

/*
 * Who sent this SIGINT has sent Python one just before: the cell that ran then has
 * had it, and has ended of it. The one behind it shall not. (If we have had one while
 * that cell ran, the two belong together, and this one is new.)
 */
static bool was_for_another(struct kernel *kernel)
{
    const struct link_page *page = kernel->door.memory.page;
    uint64_t serial = page ? atomic_load(&page->stranger_serial) : 0;
    uint64_t request;
    int64_t age_us;

    if (!page || serial == kernel->stranger_seen) {
        return false;
    }
    kernel->stranger_seen = serial;
    age_us = clock_us(CLOCK_MONOTONIC) - atomic_load(&page->stranger_ns) / 1000;
    request = atomic_load(&page->stranger_request);
    return age_us < SIGNALS_SAME_HAND_US && request != kernel->sigint_request &&
           request + 1 == lane_running(&kernel->lane);
}

void signals_take(struct kernel *kernel)
{
    struct signalfd_siginfo info;

    while (read(kernel->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGINT) {
            stop_announce(kernel);
        } else if (!was_for_another(kernel)) {
            kernel->sigint_request = lane_running(&kernel->lane);
            interrupt_running(kernel);
        }
    }
}
