/* Tests of kernel/supervisor.c with a shell script for a launcher. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/death.h"
#include "kernel/process_group.h"
#include "kernel/supervisor.h"

/* A spawned script and the kernel's end of its door. */
struct stage {
    char directory[32];
    char launcher[64];
    struct link_consumer door;
    struct supervisor supervisor;
    int result; /* of supervisor_spawn */
};

static uint64_t memory_limit; /* the option */

/* `script` NULL: there is no launcher at all. */
static void stage_init(struct stage *self, const char *script, const char *libpython)
{
    struct supervisor_options options = {.python = "/env/bin/python",
                                         .libpython = libpython,
                                         .max_output = 123,
                                         .memory_limit = memory_limit};
    char runner[] = "/lib/runner.so", python[] = "/lib/python";
    struct paths paths = {.runner = runner, .python = python};
    struct link_fds fds;
    int stdio[2];

    memset(self, 0, sizeof *self);
    memcpy(self->directory, "/tmp/einkorn-XXXXXX", sizeof "/tmp/einkorn-XXXXXX");
    cr_assert(mkdtemp(self->directory));
    (void)snprintf(self->launcher, sizeof self->launcher, "%s/launcher", self->directory);
    if (script) {
        FILE *file = fopen(self->launcher, "we");

        cr_assert(file);
        (void)fprintf(file, "%s\n", script);
        cr_assert(fclose(file) == 0);
        cr_assert(chmod(self->launcher, 0700) == 0);
    }
    paths.launcher = self->launcher;
    cr_assert(link_consumer_init(&self->door, &fds, stdio) == 0);
    self->result = supervisor_spawn(&self->supervisor, &paths, &options, &fds, stdio);
    cr_assert_eq(fds.memory, -1, "the fds are closed here in any case");
    cr_assert_eq(fcntl(stdio[0], F_GETFD), -1);
    cr_assert_eq(fcntl(stdio[1], F_GETFD), -1);
}

static void stage_release(struct stage *self)
{
    supervisor_signal_group(&self->supervisor, SIGKILL);
    supervisor_reap(&self->supervisor);
    link_consumer_release(&self->door);
    (void)unlink(self->launcher);
    (void)rmdir(self->directory);
}

/* All that it writes to fd 1 or fd 2 until that end is closed, as a text. */
static const char *written(struct stage *self, int stream)
{
    static char text[8192];
    struct pollfd fd = {.fd = self->door.pipe[stream], .events = POLLIN};
    size_t n = 0;

    for (;;) {
        ssize_t more;

        cr_assert_eq(poll(&fd, 1, 10000), 1, "nothing came");
        more = read(fd.fd, text + n, sizeof text - 1 - n);
        cr_assert_geq(more, 0);
        if (more == 0) {
            text[n] = '\0';
            return text;
        }
        n += (size_t)more;
    }
}

static void expect_line(const char *text, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    cr_assert(strstr(text, line), "\"%s\" is not in:\n%s", line, text);
}

Test(supervisor, the_launcher_is_told_all_it_needs)
{
    static const struct {
        const char *libpython, *tail;
    } rows[] = {
        {NULL, "--python\n/env/bin/python\nend\n"},
        {"/lib/libpython3.so", "--python\n/env/bin/python\n--libpython\n/lib/libpython3.so\nend\n"},
        {"", "--python\n/env/bin/python\n--libpython\n\nend\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        const char *text;

        stage_init(&stage, "#!/bin/sh\nprintf '%s\\n' \"$@\" end", rows[i].libpython);
        cr_assert_eq(stage.result, 0);
        text = written(&stage, 0);
        expect_line(text, "\n--kernel-pid\n%d\n", (int)getpid());
        expect_line(text, "\n--runner\n/lib/runner.so\n--library\n/lib/python\n");
        expect_line(text, "\n--max-output\n123\n");
        expect_line(text, "%s", rows[i].tail);
        cr_assert_str_eq(strstr(text, "--python\n"), rows[i].tail);
        stage_release(&stage);
    }
}

Test(supervisor, the_memory_limit_is_the_workers_for_good_and_not_ours)
{
    static const uint64_t limits[] = {0, UINT64_C(1) << 30};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit ours, worker;
        struct stage stage;

        memory_limit = limits[i];
        stage_init(&stage, "#!/bin/sh\nexec sleep 60", NULL);
        cr_assert_eq(stage.result, 0);
        cr_assert(prlimit(stage.supervisor.pid, RLIMIT_DATA, NULL, &worker) == 0);
        cr_assert(getrlimit(RLIMIT_DATA, &ours) == 0);
        cr_expect_eq(worker.rlim_cur, limits[i] != 0 ? limits[i] : ours.rlim_cur);
        cr_expect_eq(worker.rlim_max, limits[i] != 0 ? limits[i] : ours.rlim_max);
        cr_expect_neq(ours.rlim_max, UINT64_C(1) << 30);
        stage_release(&stage);
    }
}

/* A row of /proc/<pid>/status, hexadecimal. */
static unsigned long long mask(const char *text, const char *name)
{
    const char *row = strstr(text, name);

    cr_assert(row, "%s is not in:\n%s", name, text);
    return strtoull(row + strlen(name), NULL, 16);
}

Test(supervisor, the_worker_starts_with_sigint_blocked_and_all_else_at_its_default)
{
    unsigned long long of_glibc = 3ull << 31; /* 32 and 33: no program's business */
    sigset_t blocked;
    struct stage stage;
    const char *text;

    /* What must not be inherited. */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigaddset(&blocked, SIGUSR1);
    (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
    /* A shell would change its own mask; cat tells it as it is. */
    stage_init(&stage, "#!/usr/bin/env -S cat /proc/self/status --", NULL);
    cr_assert_eq(stage.result, 0);
    text = written(&stage, 0);
    cr_assert_eq(mask(text, "\nSigBlk:"), 1u << (SIGINT - 1));
    cr_assert_eq(mask(text, "\nSigIgn:") & ~of_glibc, 0);
    stage_release(&stage);
}

Test(supervisor, the_worker_has_its_own_group_and_reads_from_the_null_device)
{
    struct stage stage;
    const char *text;

    stage_init(&stage,
               "#!/bin/sh\n"
               "readlink /proc/$$/fd/0\n"
               "echo group $(cut -d' ' -f5 /proc/$$/stat) of $$\n"
               "echo warning >&2",
               NULL);
    cr_assert_eq(stage.result, 0);
    text = written(&stage, 0);
    expect_line(text, "/dev/null\n");
    expect_line(text, "group %d of %d\n", (int)stage.supervisor.pid, (int)stage.supervisor.pid);
    cr_assert_str_eq(written(&stage, 1), "warning\n");
    stage_release(&stage);
}

Test(supervisor, the_fds_of_the_door_are_open_in_the_worker_and_ours_are_not)
{
    struct stage stage;
    int ours[5];

    stage_init(&stage,
               "#!/bin/sh\n"
               "for fd in $(echo $2 | tr , ' '); do test -e /proc/self/fd/$fd && echo open; done",
               NULL);
    cr_assert_str_eq(written(&stage, 0), "open\nopen\nopen\nopen\nopen\nopen\n");
    memcpy(ours,
           ((int[]){stage.door.bell, stage.door.request, stage.door.pipe[0], stage.door.pipe[1],
                    stage.door.side}),
           sizeof ours);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        cr_assert_eq(fcntl(ours[i], F_GETFD), FD_CLOEXEC);
    }
    stage_release(&stage);
}

Test(supervisor, tells_how_the_worker_ended_and_reaps_it_later)
{
    static const struct {
        const char *script;
        int outcome;
    } rows[] = {
        {"#!/bin/sh\nexit 7", 7},
        {"#!/bin/sh\nexit 0", 0},
        {"#!/bin/sh\nkill -KILL $$", -SIGKILL},
        {"#!/bin/sh\nkill -TERM $$", -SIGTERM},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pollfd fd = {.events = POLLIN};
        struct stage stage;
        pid_t pid;

        stage_init(&stage, rows[i].script, NULL);
        cr_assert_eq(stage.result, 0);
        pid = stage.supervisor.pid;
        fd.fd = stage.supervisor.pidfd;
        cr_assert_eq(poll(&fd, 1, 10000), 1);
        for (int asked = 0; asked < 2; asked++) {
            struct death death;

            death_init(&death, pid);
            cr_assert_eq(death.outcome, rows[i].outcome, "%s", rows[i].script);
        }
        cr_assert_eq(kill(pid, 0), 0, "its number is still its own");
        supervisor_reap(&stage.supervisor);
        cr_assert_eq(waitpid(pid, NULL, WNOHANG), -1);
        cr_assert_eq(stage.supervisor.pid, 0);
        cr_assert_eq(stage.supervisor.pidfd, -1);
        supervisor_reap(&stage.supervisor);
        stage_release(&stage);
    }
}

Test(supervisor, a_launcher_that_is_not_there_is_an_error_and_leaves_nothing)
{
    struct link_page *page;
    struct stage stage;

    stage_init(&stage, NULL, NULL);
    cr_assert_eq(stage.result, -ENOENT);
    cr_assert_eq(stage.supervisor.pid, 0);
    cr_assert_eq(stage.supervisor.pidfd, -1);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "no child");
    /* Where there is no worker nothing is done to it, or to anybody else. */
    page = stage.door.memory.page;
    supervisor_interrupt(&stage.supervisor, page, 5, true);
    cr_assert_eq(atomic_load(&page->interrupt_number), 0);
    cr_assert_not(supervisor_interrupt_waits(&stage.supervisor, page, 5));
    cr_assert_eq(supervisor_others(&stage.supervisor), 0);
    supervisor_signal_group(&stage.supervisor, SIGKILL);
    stage_release(&stage);
}

static void watch(pid_t pid, void *arg)
{
    struct pollfd *fd = arg;

    while (fd->fd != -1) {
        fd++;
    }
    fd->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    cr_assert_geq(fd->fd, 0);
}

Test(supervisor, the_group_is_counted_and_signalled_as_a_whole)
{
    struct pollfd others[3] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
    struct pollfd fd = {.events = POLLIN};
    struct stage stage;
    char line[16];

    stage_init(&stage, "#!/bin/sh\nsleep 100 & sleep 100 & echo ready; wait", NULL);
    cr_assert_eq(stage.result, 0);
    fd.fd = stage.door.pipe[0];
    cr_assert_eq(poll(&fd, 1, 10000), 1);
    cr_assert_gt(read(fd.fd, line, sizeof line), 0);
    cr_assert_eq(supervisor_others(&stage.supervisor), 2);
    cr_assert_eq(process_group_each(stage.supervisor.pid, watch, others), 2);
    supervisor_signal_group(&stage.supervisor, SIGKILL);
    (void)written(&stage, 0);
    for (size_t i = 0; i < 2; i++) {
        /* Their files are closed a moment before they count as ended. */
        cr_assert_eq(poll(&others[i], 1, 10000), 1);
        (void)close(others[i].fd);
    }
    cr_assert_eq(supervisor_others(&stage.supervisor), 0);
    stage_release(&stage);
}
