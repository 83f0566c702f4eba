/*
 * Watches who started us, by pidfd. Runs in the kernel process. Owns the
 * pidfds. Linux only.
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

void parent_watch_init(struct parent_watch *self)
{
    memset(self, 0, sizeof *self);
    self->parent = getppid();
}

void parent_watch_release(struct parent_watch *self)
{
    while (self->count > 0) {
        (void)close(self->fd[--self->count]);
    }
}

/* -> 0, -errno. */
static int watch(struct parent_watch *self, pid_t pid)
{
    int fd;

    if (self->count == PARENT_WATCH_MAX) {
        return 0;
    }
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) {
        return -errno;
    }
    self->fd[self->count++] = fd;
    return 0;
}

/* Processes cannot be started by younger ones. */
static bool is_older_than_us(pid_t pid)
{
    uint64_t its, ours;

    return process_start_time(pid, &its) == 0 && process_start_time(getpid(), &ours) == 0 &&
           its <= ours;
}

/* The process that the variable names, if it can have started us. -> 0: no. */
static pid_t named(const char *text)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && number > 0 && number <= INT32_MAX &&
                   is_older_than_us((pid_t)number)
               ? (pid_t)number
               : 0;
}

/* Our ancestors up to and with that one. -> how many there are; 0: it is none of them. */
static size_t lineage(pid_t server, pid_t ancestor[PARENT_WATCH_MAX])
{
    size_t n = 0;
    pid_t pid = getppid();

    while (n < PARENT_WATCH_MAX && pid > 0) {
        ancestor[n++] = pid;
        if (pid == server) {
            return n;
        }
        pid = process_parent(pid);
    }
    return 0;
}

int parent_watch_open(struct parent_watch *self, const char *text)
{
    pid_t ancestor[PARENT_WATCH_MAX], server;
    size_t ancestors;
    int r = 0;

    if (!text || *text == '\0') {
        return 0;
    }
    server = named(text);
    ancestors = server ? lineage(server, ancestor) : 0;
    if (ancestors == 0) {
        ancestor[ancestors++] = server ? server : getppid();
    }
    self->in_doubt = server == 0;
    if (!server && getppid() > 1) {
        log_warning("JPY_PARENT_PID=%s is no process that can have started this one, "
                    "watching the parent %d instead",
                    text, (int)getppid());
    }
    for (size_t i = 0; i < ancestors && r != -ESRCH; i++) {
        r = ancestor[i] > 0 ? watch(self, ancestor[i]) : 0;
    }
    return r == -ESRCH || getppid() != self->parent ? -ESRCH : 0;
}
