/*
 * The first steps of a kernel. Runs in the kernel process.
 *
 * What takes time at the start is Python's boot, and next to it the dynamic
 * linker: libzmq and CZMQ bring two dozen libraries along, a third of the time to
 * the first answer. So the program itself needs nothing but libc. It spawns the
 * worker, then loads the rest as a shared object (main.c), and the two go on side
 * by side. Nothing that this file calls may need ZeroMQ.
 */

#include "kernel/start.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/file_limit.h"
#include "kernel/log.h"
#include "kernel/python_path.h"
#include "kernel/signals.h"
#include "kernel/worker_settings.h"

int start_worker(const struct options *options, const struct paths *paths, const char *python,
                 struct link_consumer *ret_door, struct supervisor *ret_supervisor)
{
    char *settings = worker_settings(options);
    struct supervisor_options worker = {
        .python = python,
        .libpython = options->libpython,
        .max_output = options->max_output,
        .settings = settings,
        .memory_limit = options->memory_limit,
    };
    struct link_fds fds;
    int stdio[2], r;

    r = link_consumer_init(ret_door, &fds, stdio);
    if (r == 0) {
        r = supervisor_spawn(ret_supervisor, paths, &worker, &fds, stdio);
    }
    free(settings);
    return r;
}

int start_init(struct start *self, const struct options *options)
{
    memset(self, 0, sizeof *self);
    self->supervisor.pidfd = -1;
    parent_watch_init(&self->parents);
    self->signal_fd = signals_open(); /* before there is any thread */
    if (file_limit_raise() < 0) {
        log_error("only %lu files may be open (ulimit -n): at least %d are needed", file_limit(),
                  (int)FILE_LIMIT_LEAST);
        return EXIT_FAILURE;
    }
    if (paths_init(&self->paths) < 0) {
        log_error("cannot tell where this program lies: /proc is not there");
        return EXIT_USAGE;
    }
    self->python = python_path(options->python);
    self->worker =
        start_worker(options, &self->paths, self->python, &self->door, &self->supervisor);
    return 0;
}

void start_release(struct start *self)
{
    supervisor_signal_group(&self->supervisor, SIGKILL);
    supervisor_reap(&self->supervisor);
    link_consumer_release(&self->door);
    paths_release(&self->paths);
    free(self->python);
    parent_watch_release(&self->parents);
    if (self->signal_fd >= 0) {
        (void)close(self->signal_fd);
    }
    memset(self, 0, sizeof *self);
}
