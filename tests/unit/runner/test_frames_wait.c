/* bridge/frames_wait.c: what comes ends the wait while it watches and while it sleeps. */

#include "bridge/frames_wait.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static pthread_t waiter;
static sigset_t mask; /* nothing is blocked while it waits */

static void on_signal(int number)
{
    (void)number;
}

static void open_pipe(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    (void)sigemptyset(&mask);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    cr_assert_eq(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
    waiter = pthread_self();
}

/* Until the thread that waits has fallen asleep, as the system says. */
static void until_it_sleeps(void)
{
    char state = 'R';
    while (state != 'S') {
        char text[256] = "";
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
        FILE *file = fopen(path, "r");
        cr_assert(file != NULL && fgets(text, sizeof text, file) != NULL);
        (void)fclose(file);
        state = strrchr(text, ')')[2];
    }
}

static void *write_when_it_sleeps(void *unused)
{
    until_it_sleeps();
    cr_assert_eq(write(ends[1], "x", 1), 1);
    return unused;
}

static void *interrupt_when_it_sleeps(void *unused)
{
    until_it_sleeps();
    cr_assert_eq(pthread_kill(waiter, SIGUSR1), 0);
    return unused;
}

static void *close_when_it_sleeps(void *unused)
{
    until_it_sleeps();
    (void)close(ends[1]);
    return unused;
}

static int wait_while(void *(*act)(void *))
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, act, NULL), 0);
    int n = frames_wait(ends[0], &mask);
    int problem = errno;
    (void)pthread_join(thread, NULL);
    errno = problem;
    return n;
}

Test(frames_wait, what_is_there_is_seen_at_once, .init = open_pipe, .timeout = 60)
{
    cr_assert_eq(write(ends[1], "x", 1), 1);
    cr_assert_eq(frames_wait(ends[0], &mask), 1);
}

Test(frames_wait, what_comes_wakes_it, .init = open_pipe, .timeout = 60)
{
    cr_assert_eq(wait_while(write_when_it_sleeps), 1);
}

Test(frames_wait, the_other_end_that_goes_wakes_it, .init = open_pipe, .timeout = 60)
{
    cr_assert_eq(wait_while(close_when_it_sleeps), 1);
}

/* It was blocked until the wait, as between Python's look for signals and the system call. */
Test(frames_wait, a_signal_that_waits_already_ends_the_watch, .init = open_pipe, .timeout = 60)
{
    cr_assert_eq(raise(SIGUSR1), 0);
    cr_assert_eq(frames_wait(ends[0], &mask), -1);
    cr_assert_eq(errno, EINTR);
}

Test(frames_wait, a_signal_ends_the_sleep, .init = open_pipe, .timeout = 60)
{
    cr_assert_eq(wait_while(interrupt_when_it_sleeps), -1);
    cr_assert_eq(errno, EINTR);
}
