/*
 * One posix_spawn for both doors: the kernel's worker (supervisor.c) and the
 * one of libeinkorn-host (host_pipe.c). Runs in whatever process is the parent,
 * on any thread. Owns nothing.
 *
 * Dispositions and masks are set here because an ignored signal survives every
 * exec: a host that a shell started in the background ignores SIGINT, and so
 * would the worker, for good.
 *
 * The worker has a session of its own, and with it a group. It has no terminal that
 * could stop it, and Linux, where it shares processors out by session (autogroup),
 * does not count what cells use as the kernel's: half as many answers on control
 * have to wait for a turn while a cell floods.
 */

#include "kernel/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/check.h"

static void set_attributes(posix_spawnattr_t *attributes, const struct spawn *how)
{
    sigset_t all, blocked;
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID;

    (void)sigfillset(&all);
    (void)sigemptyset(&blocked);
    if (how->hold_sigint) {
        (void)sigaddset(&blocked, SIGINT);
    }
    CHECK(posix_spawnattr_init(attributes) == 0);
    CHECK(posix_spawnattr_setsigdefault(attributes, &all) == 0);
    CHECK(posix_spawnattr_setsigmask(attributes, &blocked) == 0);
    CHECK(posix_spawnattr_setflags(attributes, flags) == 0);
}

static void set_actions(posix_spawn_file_actions_t *actions, const struct spawn *how)
{
    CHECK(posix_spawn_file_actions_init(actions) == 0);
    for (int fd = 0; fd < 3; fd++) {
        if (how->stdio[fd] < 0) {
            CHECK(posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDONLY, 0) == 0);
        } else {
            CHECK(posix_spawn_file_actions_adddup2(actions, how->stdio[fd], fd) == 0);
        }
    }
    if (how->close_others) {
        CHECK(posix_spawn_file_actions_addclosefrom_np(actions, 3) == 0);
    }
    if (how->directory) {
        CHECK(posix_spawn_file_actions_addchdir_np(actions, how->directory) == 0);
    }
}

int spawn_process(const struct spawn *how, pid_t *ret_pid, int *ret_pidfd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int pidfd, r;

    set_actions(&actions, how);
    set_attributes(&attributes, how);
    r = posix_spawnp(&pid, how->path, &actions, &attributes, how->argv, how->environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0) {
        return -r;
    }
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        r = -errno;
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) == -1 && errno == EINTR) {
        }
        return r;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}
