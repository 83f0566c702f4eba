/*
 * The worker's look at fd 1 and fd 2: how many bytes were ever written to each
 * pipe. The kernel publishes what it has taken; what waits is asked of dups of
 * the read ends. The two change apart, so they are taken under the sequence
 * counter that the kernel makes odd around each read.
 *
 * Every printed line looks, and mostly in vain, so the look in vain is what
 * must be cheap: an epoll with nothing to tell costs half of a poll() of both
 * pipes. It is level-triggered: a pipe stays in it until it is seen empty.
 * Owns nothing; the watch is the producer's.
 */

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bridge/link_outgoing.h"

int link_pipes_watch(const int pipe[2])
{
    int watch = epoll_create1(EPOLL_CLOEXEC);
    if (watch < 0) {
        return -errno;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(watch, EPOLL_CTL_ADD, pipe[i], &event) != 0) {
            int error = -errno;
            close(watch);
            return error;
        }
    }
    return watch;
}

void link_pipes_look(struct link_page *page, int watch, const int pipe[2], uint64_t ret_position[2])
{
    for (;;) {
        uint32_t sequence = atomic_load(&page->pipe_sequence);
        if ((sequence & 1) != 0) {
            (void)sched_yield(); /* the kernel is inside one read of at most 64 KiB */
            continue;
        }
        int waiting[2] = {0, 0};
        struct epoll_event events[2];
        int n = epoll_wait(watch, events, 2, 0); /* one call for both, and mostly the only one */
        for (int i = 0; i < n; i++) {
            uint32_t which = events[i].data.u32;
            if (ioctl(pipe[which], FIONREAD, &waiting[which]) != 0) {
                waiting[which] = 0;
            }
        }
        for (size_t i = 0; i < 2; i++) {
            ret_position[i] = atomic_load(&page->pipe_taken[i]) + (uint64_t)waiting[i];
        }
        if (atomic_load(&page->pipe_sequence) == sequence) {
            return;
        }
    }
}
