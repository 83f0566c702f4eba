/*
 * Requests on their way through the door: what the socket does not take is sent
 * when it does. Runs in the kernel process, on the thread of the zloop.
 */

#include <errno.h>

#include "bridge/check.h"
#include "bridge/clock.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/log.h"

static int on_writable(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    if (link_sender_flush(&kernel->sender) < 0 || link_sender_queued(&kernel->sender) == 0) {
        zloop_poller_end(kernel->loop, item);
        kernel->sender_watched = false;
    }
    return 0;
}

void door_send(struct kernel *kernel, enum link_request_kind kind, uint32_t count, uint64_t number,
               const struct slice *part, size_t parts)
{
    zmq_pollitem_t item = {.fd = kernel->door.request, .events = ZMQ_POLLOUT};
    int r;

    /* A worker that was told to finish may still ask, and gets the end for an answer. */
    if (kernel->sender.closing) {
        log_debug("request %llu not delivered: the kernel ends", (unsigned long long)number);
        return;
    }
    if (kind == LINK_SHELL) {
        link_consumer_wake(&kernel->door);
        kernel->await_us = clock_us(CLOCK_MONOTONIC) + DOOR_WAIT_US;
    }
    r = link_sender_put(&kernel->sender, kind, count, number, part, parts);
    CHECK(r != -EMSGSIZE); /* job_new has seen to it, and an answer is one frame */
    /* A worker that is gone is seen by its pidfd, and the request fails then. */
    if (r < 0) {
        log_debug("request %llu not delivered: the worker is gone", (unsigned long long)number);
        return;
    }
    if (link_sender_queued(&kernel->sender) > 0 && !kernel->sender_watched) {
        kernel->sender_watched = zloop_poller(kernel->loop, &item, on_writable, kernel) == 0;
        zloop_poller_set_tolerant(kernel->loop, &item);
    }
}
