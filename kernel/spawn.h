#ifndef KERNEL_SPAWN_H
#define KERNEL_SPAWN_H

/*
 * Starts a worker of either door. Linux: pidfd.
 */

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
    const char *path; /* without a slash: looked for on PATH */
    char *const *argv;
    char *const *environment;
    const char *directory; /* NULL: ours */
    int stdio[3];          /* become its fds 0, 1, 2; stdio[0] -1: /dev/null. Above 2. */
    bool close_others;     /* no other fd of ours is open in it, not even one without CLOEXEC */
    bool hold_sigint;      /* it starts with SIGINT blocked, and unblocks it when it can take one */
};

/*
 * Leader of its own session and group, every signal at its default and, but for SIGINT,
 * unblocked. The pidfd is readable when it has ended. -> 0, -errno.
 */
int spawn_process(const struct spawn *how, pid_t *ret_pid, int *ret_pidfd);

#endif
