/*
 * Watches who started us, by pidfd. Runs in the kernel process. Linux only.
 *
 * Not PR_SET_PDEATHSIG: that fires when the starting *thread* ends. Not a
 * timer that compares getppid(): the server may have started us through a
 * wrapper, and an idle kernel should not wake up each second.
 */

#include "kernel/parent_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/log.h"
#include "kernel/process_group.h"

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Processes cannot be started by younger ones. */
static bool is_older_than_us(pid_t pid)
{
    uint64_t its, ours;

    return process_start_time(pid, &its) == 0 && process_start_time(getpid(), &ours) == 0 &&
           its <= ours;
}

int parent_watch_open(const char *text)
{
    char *end;
    long number;
    int fd = -1;

    if (!text || *text == '\0') {
        return -1;
    }
    errno = 0;
    number = strtol(text, &end, 10);
    if (errno == 0 && *end == '\0' && number > 1 && number <= INT32_MAX &&
        is_older_than_us((pid_t)number)) {
        fd = open_pidfd((pid_t)number);
    }
    if (fd == -1 && getppid() > 1) {
        log_warning("JPY_PARENT_PID=%s is no process that can have started this one, "
                    "watching the parent %d instead",
                    text, (int)getppid());
        fd = open_pidfd(getppid());
    }
    return fd;
}
