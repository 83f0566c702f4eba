#ifndef KERNEL_DOOR_H
#define KERNEL_DOOR_H

/*
 * The kernel's end of the door in the loop: looks at the ring and the pipes,
 * and has what the worker says (bridge/link.h) acted on (door_records.h).
 */

#include "bridge/link.h"

struct kernel;

enum {
    DOOR_WAIT_US = 100,  /* how long the answer to a request is waited for, at once */
    DOOR_DOZE_MS = 2,    /* how long after the last record the ring is looked at by timer */
    DOOR_SLICE_US = 250, /* how long records are handled before sockets are looked at */
    DOOR_BACKLOG_MS = 5, /* how often a full backlog is looked at */
    DOOR_QUIET_MS = 250, /* a worker that said nothing so long has stopped for now */
};

/* Puts the bell and the pipes into the loop. */
void door_start(struct kernel *kernel);

/* Handles all that is there, to the last byte: the worker has ended. */
void door_drain(struct kernel *kernel);

/*
 * Takes the door out of the loop and frees it: the worker is gone, what it said
 * is handled, and another one will have a door of its own.
 */
void door_close(struct kernel *kernel);

/*
 * Queues a request for the worker (link_sender_put) and sees that it gets out.
 * After a LINK_SHELL no bell rings until the door has been looked at: from
 * outside of the door's own handlers, door_await must follow.
 */
void door_send(struct kernel *kernel, enum link_request_kind kind, uint32_t count, uint64_t number,
               const struct slice *part, size_t parts);

/*
 * To be called when the requests of a socket have been handled: if one of them
 * went to the worker, waits DOOR_WAIT_US for the answer, which a short cell gives
 * sooner than the bell and the loop would bring it.
 */
void door_await(struct kernel *kernel);

/* Looks again as soon as the sockets have been looked at; for work that is done in slices. */
void door_continue(struct kernel *kernel);

#endif
