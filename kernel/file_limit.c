/*
 * The limit of open files, and what happens when clients reach it. Runs in the
 * kernel process; accept4 on ZeroMQ's threads.
 *
 * Where accept fails for want of files, libzmq tries again at once, for ever,
 * with the connection still waiting: a whole CPU. And then nobody can open a
 * file any more, so no payload comes from the worker and no child of its group
 * is found in /proc. So it does not come to that: accept4 is defined here, where
 * the dynamic linker finds it before libc's, and a connection that would take
 * one of the last files is closed. A ZeroMQ client connects again by itself, ten
 * times a second, until there is room.
 */

#include "kernel/file_limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/log.h"

static struct rlimit given;         /* as we were started */
static _Atomic unsigned long limit; /* in force; 0: not raised yet, nothing is turned away */
static _Atomic bool told;           /* that clients are turned away */

int file_limit_raise(void)
{
    struct rlimit now;

    if (getrlimit(RLIMIT_NOFILE, &now) != 0) {
        return -errno;
    }
    given = now;
    now.rlim_cur = now.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &now) != 0) {
        now = given; /* as some sandboxes have it: then what we have must do */
    }
    atomic_store(&limit, now.rlim_cur);
    return now.rlim_cur < FILE_LIMIT_LEAST ? -EMFILE : 0;
}

unsigned long file_limit(void)
{
    return atomic_load(&limit);
}

void file_limit_restore(pid_t child)
{
    if (atomic_load(&limit) != 0) {
        (void)prlimit(child, RLIMIT_NOFILE, &given, NULL);
    }
}

/* In the place of libc's, for libzmq. ECONNABORTED is what a client's own hanging up gives. */
__attribute__((visibility("default"))) int accept4(int fd, struct sockaddr *restrict address,
                                                   socklen_t *restrict size, int flags)
{
    unsigned long most = atomic_load(&limit);
    int connection = (int)syscall(SYS_accept4, fd, address, size, flags);

    /* The lowest free number is given out, so a high one says that the others are taken. */
    if (connection >= 0 && most != 0 && (unsigned long)connection >= most - FILE_LIMIT_RESERVE) {
        (void)close(connection);
        if (!atomic_exchange(&told, true)) {
            log_warning("all of the %lu files that may be open (ulimit -n) are in use: "
                        "further clients have to wait",
                        most);
        }
        errno = ECONNABORTED;
        return -1;
    }
    return connection;
}
