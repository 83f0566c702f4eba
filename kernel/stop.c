/*
 * Ends the kernel. Runs in the kernel process, on the thread of the zloop.
 *
 * The order: replies to what waits, Python's own end, the rest of its process
 * group, our sockets. A deadline stands behind each step, because user code
 * may hang anywhere in it: in the cell, in an atexit handler, in a thread that
 * is joined, in a child that ignores SIGTERM.
 */

#include "kernel/stop.h"

#include <signal.h>

#include "bridge/xalloc.h"
#include "kernel/door.h"
#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/report.h"

const char *stop_reply(bool restart)
{
    return restart ? "{\"status\":\"ok\",\"restart\":true}"
                   : "{\"status\":\"ok\",\"restart\":false}";
}

static void finish(struct kernel *kernel)
{
    supervisor_reap(&kernel->supervisor);
    kernel->finished = true;
}

/* The worker is gone: the rest of its group follows. */
static void end_group(struct kernel *kernel)
{
    if (supervisor_others(&kernel->supervisor) == 0) {
        if (kernel_now_ms() >= kernel->linger_until_ms) {
            finish(kernel);
        }
    } else if (kernel->group_ms == 0) {
        kernel->group_ms = kernel_now_ms();
        supervisor_signal_group(&kernel->supervisor, SIGTERM);
    } else if (kernel_now_ms() - kernel->group_ms >= STOP_GROUP_MS) {
        supervisor_signal_group(&kernel->supervisor, SIGKILL);
    }
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    long long elapsed = kernel_now_ms() - kernel->stop_ms;

    (void)loop;
    (void)timer;
    if (kernel->worker == WORKER_GONE || kernel->worker == WORKER_BROKEN) {
        end_group(kernel);
    } else if (elapsed >= STOP_HARD_MS ||
               (elapsed >= STOP_CELL_MS && lane_running(&kernel->lane) != 0)) {
        if (!kernel->given_up) {
            log_warning("Python does not end: killed");
            kernel->given_up = true;
        }
        supervisor_signal_group(&kernel->supervisor, SIGKILL);
    }
    return kernel->finished ? -1 : 0;
}

void stop_begin(struct kernel *kernel, int exit_status)
{
    kernel->linger_until_ms = 0;
    if (kernel->stopping) {
        return;
    }
    kernel->stopping = true;
    kernel->stop_ms = kernel_now_ms();
    kernel->exit_status = exit_status;
    lane_abort(kernel);
    if (kernel->worker == WORKER_STARTING || kernel->worker == WORKER_READY) {
        interrupt_running(kernel);
        link_sender_close(&kernel->sender);
    }
    (void)zloop_timer(kernel->loop, STOP_TICK_MS, 0, on_tick, kernel);
}

void stop_by_exit(struct kernel *kernel)
{
    if (!kernel->stopping) {
        stop_begin(kernel, 0);
        kernel->linger_until_ms = kernel_now_ms() + STOP_EXIT_MS;
    }
}

void stop_announce(struct kernel *kernel)
{
    kernel->linger_until_ms = 0;
    if (!kernel->stopping) {
        output_flush(&kernel->output);
        iopub_publish(&kernel->iopub, "shutdown_reply", NULL, slice_of("{}"),
                      slice_of(stop_reply(false)));
        stop_begin(kernel, 0);
    }
}

/* It never became ready: the kernel stays, to tell everybody who asks. */
static void start_failed(struct kernel *kernel, int outcome)
{
    struct buffer text = BUFFER_INIT;

    report_start(outcome, buffer_slice(&kernel->start_text), kernel->python, &text);
    log_error("%s", (const char *)text.p);
    kernel->start_error = xstrdup((const char *)text.p);
    buffer_release(&text);
    kernel->worker = WORKER_BROKEN;
    supervisor_signal_group(&kernel->supervisor, SIGKILL);
    supervisor_reap(&kernel->supervisor);
    lane_run(kernel);
}

/* It died: the cell that ran learns of it, then the kernel ends as it did. */
static void died(struct kernel *kernel, int outcome)
{
    struct buffer text = BUFFER_INIT, stack = BUFFER_INIT;

    report_outcome(outcome, &text);
    if (kernel->supervisor.why_killed[0] != '\0') {
        text.n--; /* its NUL */
        buffer_printf(&text, " %s", kernel->supervisor.why_killed);
        buffer_put_char(&text, '\0');
    }
    report_stack(kernel->door.side, &stack);
    log_error("%s", (const char *)text.p);
    lane_fail(kernel, "KernelDied", (const char *)text.p, (const char *)stack.p);
    buffer_release(&text);
    buffer_release(&stack);
    stop_begin(kernel, outcome != 0 ? outcome : 1);
}

void stop_worker_gone(struct kernel *kernel)
{
    int outcome = supervisor_outcome(&kernel->supervisor);
    bool was_starting;

    door_drain(kernel);
    was_starting = kernel->worker == WORKER_STARTING;
    kernel->worker = WORKER_GONE;
    if (kernel->stopping) {
        lane_fail(kernel, "KernelShutdown", "the kernel was shut down while this cell ran", NULL);
    } else if (was_starting) {
        start_failed(kernel, outcome);
    } else {
        died(kernel, outcome);
    }
    output_flush(&kernel->output);
    if (kernel->stopping) {
        end_group(kernel);
    }
}
