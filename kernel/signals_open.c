/*
 * Blocks the signals that a kernel takes as events. Runs in the kernel process,
 * before there is any thread, and before ZeroMQ is loaded (start.c).
 */

#include "kernel/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

int signals_open(void)
{
    static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    int fd;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        (void)sigaction(ours[i], &action, NULL);
        (void)sigaddset(&set, ours[i]);
    }
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}
