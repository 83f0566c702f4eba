/*
 * Puts a new worker in the place of a dead one. Runs in the kernel process, on
 * the thread of the zloop. Owns the rest of the dead one's process group.
 *
 * The new Python starts at once and boots while clients are told, while what
 * the old one had started gets its SIGTERM and its time to react. Its zombie
 * stays until then, see supervisor.c. Everything of the old door goes: nothing of
 * a worker that may have died of anything is used again.
 */

#include "kernel/restart.h"

#include <signal.h>

#include "kernel/control.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/stop.h"

void restart_release(struct kernel *kernel)
{
    if (kernel->leaving.pid > 0) {
        supervisor_signal_group(&kernel->leaving, SIGKILL);
        supervisor_reap(&kernel->leaving);
    }
}

static int on_leaving(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    if (kernel->leaving.pid == 0 || stop_group(&kernel->leaving, false, &kernel->leaving_ms)) {
        supervisor_reap(&kernel->leaving);
        (void)zloop_timer_end(loop, timer);
    }
    return 0;
}

static void end_old_group(struct kernel *kernel)
{
    restart_release(kernel); /* of the one before */
    kernel->leaving = kernel->supervisor;
    kernel->leaving_ms = 0;
    memset(&kernel->supervisor, 0, sizeof kernel->supervisor);
    if (!stop_group(&kernel->leaving, false, &kernel->leaving_ms)) {
        (void)zloop_timer(kernel->loop, STOP_TICK_MS, 0, on_leaving, kernel);
    } else {
        supervisor_reap(&kernel->leaving);
    }
}

/* What the old Python knew and the new one does not. */
static void forget(struct kernel *kernel)
{
    input_release(&kernel->input);
    remember_forget(kernel);
    comms_release(&kernel->comms);
    buffer_clear(&kernel->fd2);
    kernel->lane.next_count = 1;
    kernel->ended_because = NULL;
}

static int on_told(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    kernel->restarting = false;
    if (kernel->stopping) {
        return 0;
    }
    output_flush(&kernel->output);
    iopub_status(&kernel->iopub, NULL, "restarting");
    session_init(&kernel->session, getenv("USER"));
    iopub_session_changed(&kernel->iopub);
    control_tell(kernel->control, &kernel->session, kernel->python_version);
    iopub_status(&kernel->iopub, NULL, "starting");
    iopub_status(&kernel->iopub, NULL, "idle");
    lane_run(kernel);
    door_await(kernel);
    return kernel->finished ? -1 : 0;
}

void restart_in_place(struct kernel *kernel)
{
    end_old_group(kernel);
    door_close(kernel);
    forget(kernel);
    kernel->worker = WORKER_STARTING;
    kernel_start_worker(kernel);
    kernel_watch_worker(kernel);
    if (!kernel->restarting) { /* a worker may die before the last death was told */
        kernel->restarting = true;
        (void)zloop_timer(kernel->loop, RESTART_TELL_MS, 1, on_told, kernel);
    }
}
