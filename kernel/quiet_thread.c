/*
 * Starts threads without signals: a mask is inherited, so it is set for the moment of the
 * start. Runs in the kernel process, and in programs with libeinkorn-host. Owns nothing.
 */

#include "kernel/quiet_thread.h"

#include <signal.h>

#include "bridge/check.h"

int quiet_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    r = pthread_create(ret_thread, NULL, run, arg);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return -r;
}
