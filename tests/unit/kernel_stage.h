#ifndef TESTS_UNIT_KERNEL_STAGE_H
#define TESTS_UNIT_KERNEL_STAGE_H

/*
 * The kernel's loop in a test: it runs only inside stage_… calls that wait for
 * something, and each ends by that event or fails after STAGE_DEADLINE_MS. One
 * thread. kernel_fixture.h puts it all together.
 */

#include <criterion/criterion.h>
#include <czmq.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bridge/json_text.h"
#include "bridge/link.h"
#include "kernel/control.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/restart.h"
#include "kernel/router.h"
#include "kernel/signals.h"
#include "kernel/stop.h"

enum { STAGE_DEADLINE_MS = 20000, STAGE_TURNS_MAX = 100000, STAGE_TEXT = 400 };

struct stage {
    struct options options;
    struct kernel *kernel;
    struct signer *signer; /* the client's */
    zsock_t *client[CHANNELS];
    unsigned sent;  /* messages of the client: their ids are "m1", "m2", … */
    unsigned turns; /* of stage_turn: "turn 1", … */
    struct link_producer worker;
    struct link_reader reader;
    int stdio[2];     /* the worker's fd 1 and fd 2 */
    size_t continued; /* how often iopub said that it is busy */
};

static inline int stage_end_run(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    (void)socket;
    (void)arg;
    return -1;
}

static inline int stage_end_run_fd(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    (void)item;
    (void)arg;
    return -1;
}

static inline int stage_too_late(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    *(bool *)arg = true;
    return -1;
}

/* Runs the loop until a handler ends it. */
static inline void stage_run(struct stage *self, const char *what)
{
    bool late = false;
    int timer = zloop_timer(self->kernel->loop, STAGE_DEADLINE_MS, 1, stage_too_late, &late);

    (void)zloop_start(self->kernel->loop);
    cr_assert_not(late, "waited in vain for %s", what);
    (void)zloop_timer_end(self->kernel->loop, timer);
}

static inline void stage_run_until_readable(struct stage *self, int fd, const char *what)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};

    (void)zloop_poller(self->kernel->loop, &item, stage_end_run_fd, NULL);
    stage_run(self, what);
    zloop_poller_end(self->kernel->loop, &item);
}

/* Runs the loop until that socket of the client has a message. */
static inline void stage_wait(struct stage *self, zsock_t *socket)
{
    (void)zloop_reader(self->kernel->loop, socket, stage_end_run, NULL);
    do {
        stage_run(self, "a message");
    } while ((zsock_events(socket) & ZMQ_POLLIN) == 0);
    zloop_reader_end(self->kernel->loop, socket);
}

static inline void stage_run_to_the_end(struct stage *self)
{
    while (!self->kernel->finished) {
        stage_run(self, "the kernel's end");
    }
}

static inline int stage_on_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct stage *self = arg;

    (void)loop;
    (void)item;
    signals_take(self->kernel);
    return self->kernel->finished ? -1 : 0;
}

static inline int stage_on_worker_end(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct stage *self = arg;

    zloop_poller_end(loop, item);
    stop_worker_gone(self->kernel);
    return self->kernel->finished ? -1 : 0;
}

static inline void stage_watch(struct stage *self, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};

    (void)zloop_poller(self->kernel->loop, &item, handler, self);
}

#endif
