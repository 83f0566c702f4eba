/*
 * Signals as events. Runs in the kernel process, on the thread of the zloop.
 */

#include "kernel/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/stop.h"

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

void signals_take(struct kernel *kernel)
{
    struct signalfd_siginfo info;

    while (read(kernel->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGINT) {
            interrupt_running(kernel);
        } else {
            stop_announce(kernel);
        }
    }
}
