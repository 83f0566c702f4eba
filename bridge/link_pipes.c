/*
 * The worker's look at fd 1 and fd 2: how many bytes were ever written to each
 * pipe. The kernel publishes what it has taken; what waits is asked of dups of
 * the read ends. The two change apart, so they are taken under the sequence
 * counter that the kernel makes odd around each read. Owns nothing.
 */

#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "bridge/link_outgoing.h"

void link_pipes_look(struct link_page *page, const int pipe[2], uint64_t ret_position[2])
{
    for (;;) {
        uint32_t sequence = atomic_load(&page->pipe_sequence);
        if ((sequence & 1) != 0) {
            (void)sched_yield(); /* the kernel is inside one read of at most 64 KiB */
            continue;
        }
        struct pollfd fds[2] = {{.fd = pipe[0], .events = POLLIN},
                                {.fd = pipe[1], .events = POLLIN}};
        (void)poll(fds, 2, 0); /* one call for both, and mostly the only one */
        for (size_t i = 0; i < 2; i++) {
            int n = 0;
            if ((fds[i].revents & POLLIN) != 0 && ioctl(pipe[i], FIONREAD, &n) != 0) {
                n = 0;
            }
            ret_position[i] = atomic_load(&page->pipe_taken[i]) + (uint64_t)n;
        }
        if (atomic_load(&page->pipe_sequence) == sequence) {
            return;
        }
    }
}
