/* Tests of kernel/process_group.c and kernel/parent_watch.c with real processes. */

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/parent_watch.h"
#include "kernel/process_group.h"

/* A child in a process group of its own that waits for a signal; it is ready when this returns. */
static pid_t child(void (*disposition)(int))
{
    int ready[2];
    pid_t pid;
    char c;

    cr_assert(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nothing behind */
        (void)signal(SIGINT, disposition);
        (void)setpgid(0, 0);
        (void)!write(ready[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    cr_assert(read(ready[0], &c, 1) == 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void end(pid_t pid, void *arg)
{
    *(pid_t *)arg = pid;
    (void)kill(pid, SIGTERM);
}

Test(process_group, visits_the_living_members_but_the_leader)
{
    pid_t leader = child(SIG_DFL), member = child(SIG_DFL), visited = 0;
    siginfo_t info;

    cr_assert_eq(process_group_each(leader, end, &visited), 0);
    cr_assert(setpgid(member, leader) == 0);
    cr_assert_eq(process_group_each(leader, end, &visited), 1);
    cr_assert_eq(visited, member);
    cr_assert(waitid(P_PID, (id_t)member, &info, WEXITED | WNOWAIT) == 0);
    cr_assert_eq(info.si_status, SIGTERM);
    cr_assert_eq(process_group_each(leader, end, &visited), 0, "a zombie is no living member");
    (void)kill(leader, SIGKILL);
    (void)waitpid(leader, NULL, 0);
    (void)waitpid(member, NULL, 0);
}

Test(process_group, tells_who_would_die_of_an_interrupt)
{
    pid_t open = child(SIG_DFL), closed = child(SIG_IGN);

    cr_assert(process_dies_of_sigint(open));
    cr_assert_not(process_dies_of_sigint(closed));
    (void)kill(open, SIGKILL);
    (void)kill(closed, SIGKILL);
    (void)waitpid(open, NULL, 0);
    (void)waitpid(closed, NULL, 0);
}

Test(process_group, knows_when_processes_started)
{
    uint64_t first, ours;

    cr_assert(process_start_time(1, &first) == 0);
    cr_assert(process_start_time(getpid(), &ours) == 0);
    cr_assert(first <= ours);
    cr_assert(process_start_time(INT32_MAX, &first) < 0);
}

static bool in_doubt; /* after watches(): the named process is not there */

/* How many are watched then. */
static size_t watches(const char *text)
{
    struct parent_watch watch;
    size_t count;

    parent_watch_init(&watch);
    cr_assert_eq(parent_watch_open(&watch, text), 0);
    count = watch.count;
    in_doubt = watch.in_doubt;
    parent_watch_release(&watch);
    return count;
}

Test(parent_watch, takes_an_older_process_and_falls_back_to_the_parent)
{
    static const char *const wrong[] = {"0", "-4", "abc", "2147483000", "99999999999999999999"};
    uint64_t ours, its;
    pid_t younger = 0;
    char text[16];

    cr_assert_eq(watches(NULL), 0);
    cr_assert_eq(watches(""), 0);
    (void)snprintf(text, sizeof text, "%d", (int)getppid());
    cr_assert_eq(watches(text), 1);
    cr_assert_not(in_doubt);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(watches(wrong[i]), 1, "%s", wrong[i]);
        cr_assert(in_doubt);
    }
    /* Start times count in ticks of 10 ms: only a later tick is younger. */
    cr_assert(process_start_time(getpid(), &ours) == 0);
    do {
        if (younger > 0) {
            (void)kill(younger, SIGKILL);
            (void)waitpid(younger, NULL, 0);
        }
        younger = child(SIG_DFL);
        cr_assert(process_start_time(younger, &its) == 0);
    } while (its == ours);
    struct parent_watch watch;
    struct pollfd watched = {.events = POLLIN};
    parent_watch_init(&watch);
    (void)snprintf(text, sizeof text, "%d", (int)younger);
    cr_assert_eq(parent_watch_open(&watch, text), 0);
    watched.fd = watch.fd[0];
    (void)kill(younger, SIGKILL);
    (void)waitpid(younger, NULL, 0);
    cr_assert_eq(poll(&watched, 1, 0), 0, "the child's end says nothing: our parent is watched");
    parent_watch_release(&watch);
}

Test(parent_watch, watches_a_wrapper_too)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", (int)process_parent(getppid()));
    cr_assert_eq(watches(text), 2, "our parent, and the process %s that started it", text);
}

Test(parent_watch, sees_that_the_parent_went_before_it_was_watched)
{
    struct parent_watch watch;
    char text[16];

    parent_watch_init(&watch);
    watch.parent++; /* as if another process had been our parent when we began */
    (void)snprintf(text, sizeof text, "%d", (int)getppid());
    cr_assert_eq(parent_watch_open(&watch, text), -ESRCH);
    parent_watch_release(&watch);
    watch.parent++;
    cr_assert_eq(parent_watch_open(&watch, NULL), 0, "a kernel of its own does not mind");
    parent_watch_release(&watch);
}
