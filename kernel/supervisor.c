/*
 * Spawns, interrupts and ends the worker. Runs in the kernel process. Owns the
 * worker's pid and pidfd.
 *
 * The worker is not reaped before its group is empty: as long as its zombie is
 * there its number cannot be taken by a stranger, and signals to the group hit
 * nobody else.
 */

#include "kernel/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/check.h"
#include "kernel/file_limit.h"
#include "kernel/log.h"
#include "kernel/process_group.h"
#include "kernel/spawn.h"
#include "kernel/worker_environment.h"

extern char **environ;

/* SIGINT stays blocked until the worker's own handler stands. */
static int spawn(struct supervisor *self, const char *path, char *const argv[], const int stdio[2])
{
    char **environment = worker_environment_new(environ);
    struct spawn how = {.path = path,
                        .argv = argv,
                        .environment = environment,
                        .stdio = {-1, stdio[0], stdio[1]},
                        .hold_sigint = true};
    int r = spawn_process(&how, &self->pid, &self->pidfd);

    if (r == 0) {
        file_limit_restore(self->pid);
    }
    free(environment);
    return r;
}

/*
 * RLIMIT_DATA counts what a process can write to and shares with nobody: heap
 * and anonymous mappings, also stacks of threads. RLIMIT_AS counts addresses, of
 * which jemalloc, CUDA and 64 MiB arenas of malloc reserve far more than they
 * use. (Before Linux 4.7 RLIMIT_DATA counted brk only.) The launcher has hardly
 * begun when this comes, and its limits are Python's and the children's.
 */
static void limit_memory(pid_t pid, uint64_t bytes)
{
    struct rlimit limit;

    if (bytes == 0 || prlimit(pid, RLIMIT_DATA, NULL, &limit) == -1) {
        return;
    }
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > bytes) {
        limit.rlim_max = bytes;
    }
    limit.rlim_cur = limit.rlim_max;
    if (prlimit(pid, RLIMIT_DATA, &limit, NULL) == -1) {
        log_warning("--memory-limit has no effect: %s", strerror(errno));
    }
}

int supervisor_spawn(struct supervisor *self, const struct paths *paths,
                     const struct supervisor_options *options, struct link_fds *fds, int stdio[2])
{
    char fds_text[LINK_FDS_TEXT], pid_text[24], bound_text[24];
    const char *argv[24];
    size_t n = 0;
    int r;

    link_fds_format(fds, fds_text);
    (void)snprintf(pid_text, sizeof pid_text, "%d", (int)getpid());
    (void)snprintf(bound_text, sizeof bound_text, "%zu", options->max_output);
    argv[n++] = "einkorn-python";
    argv[n++] = "--fds";
    argv[n++] = fds_text;
    argv[n++] = "--kernel-pid";
    argv[n++] = pid_text;
    argv[n++] = "--runner";
    argv[n++] = paths->runner;
    argv[n++] = "--library";
    argv[n++] = paths->python;
    argv[n++] = "--max-output";
    argv[n++] = bound_text;
    argv[n++] = "--settings";
    argv[n++] = options->settings ? options->settings : "";
    argv[n++] = "--python";
    argv[n++] = options->python;
    if (options->libpython) {
        argv[n++] = "--libpython";
        argv[n++] = options->libpython;
    }
    argv[n] = NULL;

    self->interrupt = 0;
    self->pid = 0;
    self->pidfd = -1;
    r = spawn(self, paths->launcher, (char *const *)(uintptr_t)argv, stdio);
    link_fds_close(fds);
    (void)close(stdio[0]);
    (void)close(stdio[1]);
    if (r == 0) {
        limit_memory(self->pid, options->memory_limit);
    }
    return r;
}

/* A worker that has no handler (it is finishing) would die of the signal: leave it alone. */
static void signal_main_thread(const struct supervisor *self)
{
    if (!process_dies_of_sigint(self->pid)) {
        (void)syscall(SYS_tgkill, self->pid, self->pid, SIGINT);
    }
}

/* A second SIGINT would cut short what a child does upon the first. */
static void interrupt_once(pid_t pid, void *arg)
{
    struct supervisor *self = arg;

    for (size_t at = 0; at < self->interrupted.n; at += sizeof pid) {
        if (memcmp(self->interrupted.p + at, &pid, sizeof pid) == 0) {
            return;
        }
    }
    buffer_put(&self->interrupted, &pid, sizeof pid);
    (void)kill(pid, SIGINT);
}

void supervisor_interrupt_again(struct supervisor *self)
{
    CHECK(self->pid > 0);
    signal_main_thread(self);
    if (self->interrupt_group) {
        (void)process_group_each(self->pid, interrupt_once, self);
    }
}

void supervisor_interrupt(struct supervisor *self, struct link_page *page, uint64_t number,
                          bool group)
{
    if (self->pid <= 0) {
        return;
    }
    self->interrupt = number;
    self->interrupt_group = group;
    self->interrupt_serial++;
    buffer_clear(&self->interrupted);
    atomic_store(&page->interrupt_number, number);
    atomic_store(&page->interrupt_serial, self->interrupt_serial);
    supervisor_interrupt_again(self);
}

bool supervisor_interrupt_waits(struct supervisor *self, const struct link_page *page,
                                uint64_t running)
{
    if (self->pid <= 0 || running != self->interrupt ||
        atomic_load(&page->interrupt_acknowledged) == self->interrupt_serial) {
        self->interrupt = 0;
    }
    return self->interrupt != 0;
}

void supervisor_signal_group(const struct supervisor *self, int signal)
{
    if (self->pid > 0) {
        (void)kill(-self->pid, signal);
    }
}

static void signal_one(pid_t pid, void *arg)
{
    (void)kill(pid, *(int *)arg);
}

void supervisor_signal_others(const struct supervisor *self, int signal)
{
    if (self->pid > 0) {
        (void)process_group_each(self->pid, signal_one, &signal);
    }
}

static void ignore(pid_t pid, void *arg)
{
    (void)pid;
    (void)arg;
}

size_t supervisor_others(const struct supervisor *self)
{
    return self->pid > 0 ? process_group_each(self->pid, ignore, NULL) : 0;
}

void supervisor_reap(struct supervisor *self)
{
    while (self->pid > 0 && waitpid(self->pid, NULL, 0) == -1 && errno == EINTR) {
    }
    self->pid = 0;
    buffer_release(&self->interrupted);
    if (self->pidfd >= 0) {
        (void)close(self->pidfd);
        self->pidfd = -1;
    }
}
