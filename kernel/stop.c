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

#include "bridge/clock.h"
#include "bridge/xalloc.h"
#include "kernel/door.h"
#include "kernel/interrupt.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/report.h"
#include "kernel/requests/requests.h"
#include "kernel/worker_death.h"

const char *stop_reply(bool restart)
{
    return restart ? "{\"status\":\"ok\",\"restart\":true}"
                   : "{\"status\":\"ok\",\"restart\":false}";
}

/* The cell that ran has ended: who asked for the end can be told. */
static void answer_shutdowns(struct kernel *kernel)
{
    if (lane_running(&kernel->lane) == 0) {
        shutdown_answer(kernel);
    }
}

static void finish(struct kernel *kernel)
{
    worker_death_settle(kernel);
    supervisor_reap(&kernel->supervisor);
    kernel->finished = true;
}

bool stop_group(const struct supervisor *supervisor, bool told, long long *since_ms)
{
    if (supervisor_others(supervisor) == 0) {
        return true;
    }
    if (*since_ms == 0) {
        *since_ms = kernel_now_ms();
        if (!told) {
            supervisor_signal_group(supervisor, SIGTERM);
        }
    } else if (kernel_now_ms() - *since_ms >= STOP_GROUP_MS) {
        supervisor_signal_group(supervisor, SIGKILL);
    }
    return false;
}

/* The worker is gone: the rest of its group follows. */
static void end_group(struct kernel *kernel)
{
    const struct link_page *page = kernel->door.memory.page;
    bool told = page && atomic_load(&page->group_told);

    if (stop_group(&kernel->supervisor, told, &kernel->group_ms) &&
        kernel_now_ms() >= kernel->linger_until_ms) {
        finish(kernel);
    }
}

/* Python does not end by itself: it and its children are killed. */
static void give_up(struct kernel *kernel)
{
    if (!kernel->given_up) {
        log_warning("Python does not end: killed");
        kernel->given_up = true;
    }
    supervisor_signal_group(&kernel->supervisor, SIGKILL);
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    long long elapsed = kernel_now_ms() - kernel->stop_ms;

    (void)loop;
    (void)timer;
    answer_shutdowns(kernel);
    if (kernel->worker == WORKER_GONE || kernel->worker == WORKER_BROKEN) {
        end_group(kernel);
    } else if (elapsed >= STOP_HARD_MS ||
               (elapsed >= STOP_CELL_MS && lane_running(&kernel->lane) != 0)) {
        give_up(kernel);
    } else if (elapsed >= STOP_CHILDREN_MS && !kernel->children_told) {
        kernel->children_told = true;
        supervisor_signal_others(&kernel->supervisor, SIGTERM);
    }
    return kernel->finished ? -1 : 0;
}

void stop_begin(struct kernel *kernel, int exit_status)
{
    kernel->linger_until_ms = 0;
    if (kernel->stopping) {
        answer_shutdowns(kernel);
        return;
    }
    kernel->stopping = true;
    kernel->stop_ms = kernel_now_ms();
    kernel->exit_status = exit_status;
    lane_abort(kernel);
    if (lane_running(&kernel->lane) != 0) {
        kernel->stop_cell = STOP_CELL_ENDED; /* unless it has to be killed */
    }
    if (kernel->worker == WORKER_STARTING || kernel->worker == WORKER_READY) {
        interrupt_running(kernel);
        link_sender_close(&kernel->sender);
    }
    answer_shutdowns(kernel);
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
    worker_death_was_shutdown(kernel);
    if (!kernel->stopping) {
        output_flush(&kernel->output);
        iopub_publish(&kernel->iopub, "shutdown_reply", NULL, slice_of("{}"),
                      slice_of(stop_reply(false)));
        stop_begin(kernel, 0);
    }
}

/* It never became ready: the kernel stays, to tell everybody who asks. */
static void start_failed(struct kernel *kernel, const struct death *death)
{
    struct buffer text = BUFFER_INIT;

    report_start(death, buffer_slice(&kernel->start_text), kernel->python, &text);
    log_error("%s", (const char *)text.p);
    kernel->start_error = xstrdup((const char *)text.p);
    buffer_release(&text);
    kernel->worker = WORKER_BROKEN;
    supervisor_signal_group(&kernel->supervisor, SIGKILL);
    supervisor_reap(&kernel->supervisor);
    lane_run(kernel);
}

/* All that is known of the worker's end; its last words are handled. */
static void examine(struct kernel *kernel, struct death *ret_death)
{
    const struct job *job = kernel->lane.current;

    death_init(ret_death, kernel->supervisor.pid);
    death_read_words(ret_death, kernel->door.side);
    ret_death->reason = kernel->ended_because;
    ret_death->in_cell = job && job->kind == JOB_EXECUTE;
    ret_death->ran_ms = job ? (clock_us(CLOCK_MONOTONIC) - job->started_us) / 1000 : 0;
    ret_death->before = kernel->memory;
    memory_group_read("", &ret_death->after);
    buffer_put_slice(&ret_death->fd2, buffer_slice(&kernel->fd2));
}

void stop_worker_gone(struct kernel *kernel)
{
    struct death death;
    int64_t died_us = clock_us(CLOCK_MONOTONIC);
    bool was_starting;

    door_drain(kernel);
    kernel->died_us = died_us; /* it may have said only now that it was ready */
    examine(kernel, &death);
    was_starting = kernel->worker == WORKER_STARTING;
    kernel->worker = WORKER_GONE;
    if (!kernel->stopping && !was_starting && death_was_wanted(&death)) {
        log_info("Python was told to end, and the kernel ends with it");
        stop_announce(kernel);
    }
    if (kernel->stopping) {
        if (lane_running(&kernel->lane) != 0) {
            kernel->stop_cell = STOP_CELL_KILLED;
        }
        lane_fail(kernel, "KernelShutdown", "the kernel was shut down while this cell ran", NULL);
        answer_shutdowns(kernel);
    } else if (was_starting) {
        start_failed(kernel, &death);
    } else {
        worker_death(kernel, &death);
    }
    death_release(&death);
    output_flush(&kernel->output);
    if (kernel->stopping) {
        end_group(kernel);
    }
}
