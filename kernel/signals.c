/*
 * Signals as events. Runs in the kernel process, on the thread of the zloop.
 */

#include "kernel/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/stop.h"

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
