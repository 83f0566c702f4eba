/*
 * When the ring and the pipes are looked at. Runs in the kernel process, on the
 * thread of the zloop. What a record does is in door_records.c.
 *
 * Records are handled in slices of DOOR_SLICE_US, so that control is answered in the middle
 * of a flood. Four things pause the
 * handling, and with it, once the ring is full, the worker: a slice used up, a
 * large message being signed, a backlog that subscribers do not take, and more
 * messages than a server passes on.
 * While paused the kernel is LINK_AWAKE: a timer goes on, no bell is needed.
 *
 * After a request was sent the ring is watched for DOOR_WAIT_US. A short cell
 * is done by then, and a bell, a wake-up and a turn of the loop are saved.
 */

#include "kernel/door.h"

#include <sched.h>

#include "bridge/clock.h"
#include "kernel/door_pause.h"
#include "kernel/door_records.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/trim.h"

static int on_timer(zloop_t *loop, int timer, void *arg);

static void set_timer(struct kernel *kernel, size_t delay_ms)
{
    if (kernel->door_timer != -1) {
        (void)zloop_timer_end(kernel->loop, kernel->door_timer);
    }
    kernel->door_timer = zloop_timer(kernel->loop, delay_ms, 1, on_timer, kernel);
}

void door_continue(struct kernel *kernel)
{
    set_timer(kernel, 0);
}

static void see_to_output(struct kernel *kernel);

static int on_output_timer(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    kernel->output_timer = -1;
    /* What it was set for may have left meanwhile, and other text come. */
    if (output_waits(&kernel->output) && output_due_ms(&kernel->output) == 0) {
        output_flush(&kernel->output);
    }
    see_to_output(kernel);
    return 0;
}

static void see_to_output(struct kernel *kernel)
{
    if (output_waits(&kernel->output) && kernel->output_timer == -1) {
        kernel->output_timer =
            zloop_timer(kernel->loop, output_due_ms(&kernel->output), 1, on_output_timer, kernel);
    }
    stall_watch_start(kernel);
}

/* A worker that breaks the format is ended; its death is then reported as any other. */
static void end_corrupt_worker(struct kernel *kernel)
{
    if (!kernel->door_corrupt) {
        kernel->door_corrupt = true;
        kernel->ended_because = "it had broken the format of the shared memory";
        log_error("the Python process broke the format of the shared memory; it is ended");
        supervisor_signal_group(&kernel->supervisor, SIGKILL);
    }
}

/* One item. -> 1: handled; 0: the round is over; LINK_ECORRUPT. */
static int step(struct kernel *kernel)
{
    struct link_item item;
    int r;

    if (!kernel->in_round) {
        link_consumer_begin(&kernel->door);
        kernel->in_round = true;
    }
    r = link_consumer_next(&kernel->door, &item);
    if (r == 0) {
        kernel->in_round = false;
    }
    return r == 1 && door_handle(kernel, &item) < 0 ? LINK_ECORRUPT : r;
}

static int on_fd(zloop_t *loop, zmq_pollitem_t *item, void *arg);

/* In the loop: the bell and the pipes that have not ended. */
static void watch(struct kernel *kernel, bool wanted)
{
    int fds[3] = {kernel->door.bell, kernel->door.text[0].ended ? -1 : kernel->door.pipe[0],
                  kernel->door.text[1].ended ? -1 : kernel->door.pipe[1]};

    for (int i = 0; i < 3; i++) {
        zmq_pollitem_t item = {.fd = kernel->watched[i], .events = ZMQ_POLLIN};
        int fd = wanted ? fds[i] : -1;

        if (fd == kernel->watched[i]) {
            continue;
        }
        if (kernel->watched[i] != -1) {
            zloop_poller_end(kernel->loop, &item);
        }
        kernel->watched[i] = fd;
        if (fd != -1) {
            item.fd = fd;
            (void)zloop_poller(kernel->loop, &item, on_fd, kernel);
            zloop_poller_set_tolerant(kernel->loop, &item);
        }
    }
}

/* Goes on later, by timer; until then neither bell nor pipes wake the loop. */
static void pause_for(struct kernel *kernel, size_t delay_ms)
{
    watch(kernel, false);
    set_timer(kernel, delay_ms);
}

/*
 * Waits a moment for the answer to a request that was just sent, within the
 * slice. The processor is the worker's if there is no other.
 */
static bool answer_comes(struct kernel *kernel, int64_t slice_end_us)
{
    while (kernel->await_us != 0 && lane_running(&kernel->lane) != 0) {
        int64_t now = clock_us(CLOCK_MONOTONIC);

        if (link_consumer_has_news(&kernel->door)) {
            return true;
        }
        if (now >= kernel->await_us || now >= slice_end_us) {
            break;
        }
        (void)sched_yield();
    }
    kernel->await_us = 0;
    return false;
}

static void pump(struct kernel *kernel)
{
    int64_t end_us = clock_us(CLOCK_MONOTONIC) + DOOR_SLICE_US;
    size_t handled = 0;
    bool doze; /* more will come soon */

    while (!kernel->finished && !kernel->door_corrupt) {
        int r;

        if (iopub_is_busy(&kernel->iopub)) {
            iopub_work(&kernel->iopub);
            pause_for(kernel, 0);
            break;
        }
        if (door_pause_wanted(kernel)) {
            pause_for(kernel, DOOR_BACKLOG_MS);
            break;
        }
        r = step(kernel);
        handled += r == 1;
        doze = handled > 0 && !kernel->door_quiet;
        if (r < 0) {
            watch(kernel, false);
            end_corrupt_worker(kernel);
        } else if (r == 1 && clock_us(CLOCK_MONOTONIC) >= end_us) {
            pause_for(kernel, 0);
            (void)sched_yield(); /* ZeroMQ's threads and control's have something to do now */
            break;
        } else if (r == 0 && !answer_comes(kernel, end_us) &&
                   link_consumer_rest(&kernel->door, doze ? LINK_DOZING : LINK_ASLEEP)) {
            watch(kernel, true);
            if (doze) {
                set_timer(kernel, DOOR_DOZE_MS);
            } else if (handled == 0 && !kernel->trimmed && kernel->worker == WORKER_READY) {
                kernel->trimmed = trim_files() > 0; /* the start is over */
            }
            break;
        }
    }
    see_to_output(kernel);
}

static int on_timer(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    kernel->door_timer = -1;
    pump(kernel);
    return kernel->finished ? -1 : 0;
}

static int on_fd(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    if (item->fd == kernel->door.bell) {
        link_consumer_hush(&kernel->door);
    }
    pump(kernel);
    return kernel->finished ? -1 : 0;
}

void door_drain(struct kernel *kernel)
{
    bool found = true;

    watch(kernel, false);
    while (found && !kernel->door_corrupt) {
        int r;

        found = false;
        while ((r = step(kernel)) == 1) {
            found = true;
        }
        if (r < 0) {
            end_corrupt_worker(kernel);
        }
    }
    while (iopub_is_busy(&kernel->iopub)) {
        iopub_work(&kernel->iopub);
    }
}

void door_start(struct kernel *kernel)
{
    pump(kernel);
}

void door_await(struct kernel *kernel)
{
    if (kernel->await_us != 0) {
        pump(kernel);
    }
}

void door_close(struct kernel *kernel)
{
    zmq_pollitem_t item = {.fd = kernel->door.request, .events = ZMQ_POLLOUT};

    watch(kernel, false);
    if (kernel->door_timer != -1) {
        (void)zloop_timer_end(kernel->loop, kernel->door_timer);
        kernel->door_timer = -1;
    }
    if (kernel->sender_watched) {
        zloop_poller_end(kernel->loop, &item);
        kernel->sender_watched = false;
    }
    kernel->in_round = false;
    kernel->door_quiet = false;
    kernel->await_us = 0;
    kernel->door_corrupt = false;
    link_sender_release(&kernel->sender);
    link_consumer_release(&kernel->door);
}
