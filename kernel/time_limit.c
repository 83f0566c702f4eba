/*
 * Watches over how long a request takes. Runs in the kernel process, on the
 * thread of the zloop; one timer, and none where there is no limit.
 */

#include "kernel/time_limit.h"

#include <signal.h>
#include <stdio.h>

#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/notice.h"

/* 0 ms: none. The option that sets it, and whom it is for; both NULL: a look-up's, not set. */
struct limit {
    int64_t ms;
    const char *option, *whose;
};

static struct limit limit_of(const struct kernel *kernel, enum job_kind kind)
{
    const struct options *options = kernel->options;
    const char *whose = kind == JOB_COMM ? "handler of a comm message" : "cell";

    if (kind == JOB_COMM && options->comm_timeout_ms >= 0) {
        return (struct limit){options->comm_timeout_ms, "--comm-timeout", whose};
    }
    if (kind == JOB_COMM || kind == JOB_EXECUTE) {
        return (struct limit){options->cell_timeout_ms, "--cell-timeout", whose};
    }
    return (struct limit){TIME_LIMIT_LOOKUP_MS, NULL, NULL};
}

static int on_timer(zloop_t *loop, int timer, void *arg);

static void start_timer(struct kernel *kernel, int64_t delay_ms)
{
    struct time_limit *self = &kernel->time_limit;

    self->timer = zloop_timer(kernel->loop, (size_t)delay_ms, 1, on_timer, kernel);
    self->running = self->timer != -1;
}

static void interrupt(struct kernel *kernel)
{
    const struct job *job = kernel->lane.current;
    const struct limit limit = limit_of(kernel, job->kind);
    char text[128];

    if (limit.option) {
        (void)snprintf(text, sizeof text, "This ran longer than %s %g s: interrupted.\n",
                       limit.option, (double)limit.ms / 1000);
        notice_publish(kernel, job->origin, slice_of(text));
        kernel->time_limit.interrupted = true;
        start_timer(kernel, TIME_LIMIT_GRACE_MS);
    } else {
        start_timer(kernel, TIME_LIMIT_LOOKUP_MS);
    }
    interrupt_running(kernel);
}

/* What is published of it is the death report. */
static void end_worker(struct kernel *kernel)
{
    struct time_limit *self = &kernel->time_limit;
    const struct limit limit = limit_of(kernel, kernel->lane.current->kind);

    (void)snprintf(self->why_killed, sizeof self->why_killed,
                   "the %s ran longer than %s %g s and did not end within %d s of the interrupt",
                   limit.whose, limit.option, (double)limit.ms / 1000, TIME_LIMIT_GRACE_MS / 1000);
    log_warning("a %s ran longer than %s and did not end: Python is killed", limit.whose,
                limit.option);
    kernel->ended_because = self->why_killed;
    supervisor_signal_group(&kernel->supervisor, SIGKILL);
}

static int on_timer(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    struct time_limit *self = &kernel->time_limit;

    (void)loop;
    (void)timer;
    self->running = false;
    if (lane_running(&kernel->lane) == 0 || kernel->stopping) {
        return 0;
    }
    if (self->interrupted) {
        end_worker(kernel);
    } else {
        interrupt(kernel);
    }
    return 0;
}

void time_limit_start(struct kernel *kernel, const struct job *job)
{
    int64_t limit_ms = limit_of(kernel, job->kind).ms;

    time_limit_stop(kernel);
    kernel->time_limit.interrupted = false;
    if (limit_ms > 0) {
        start_timer(kernel, limit_ms);
    }
}

void time_limit_stop(struct kernel *kernel)
{
    if (kernel->time_limit.running) {
        (void)zloop_timer_end(kernel->loop, kernel->time_limit.timer);
        kernel->time_limit.running = false;
    }
}
