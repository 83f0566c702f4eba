#ifndef KERNEL_INPUT_H
#define KERNEL_INPUT_H

/*
 * input() and getpass(): requests on the stdin channel to the client that
 * asked for the running code (Messaging spec, "Messages on the stdin channel").
 */

#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"
#include "kernel/wire.h"

struct kernel;

enum {
    INPUT_GRACE_MS = 500, /* how long a client's stdin socket is waited for */
    INPUT_RETRY_MS = 10,
};

/* An input request that somebody in the worker waits for. */
struct pending_input {
    struct pending_input *next;
    struct origin *origin;
    uint64_t serial;       /* the worker's number for it */
    struct buffer msg_id;  /* of our input_request */
    struct buffer content; /* of it, while it is not sent */
    long long give_up_ms;  /* CLOCK_MONOTONIC: when sending it is given up */
};

struct input {
    struct pending_input *first, **last;
    bool retries; /* a timer sends what could not be sent */
};

void input_init(struct input *self);
void input_release(struct input *self);

/*
 * The worker asks: sends input_request to origin's client, after throwing away
 * replies that came before it. A client without a stdin socket, also
 * INPUT_GRACE_MS later: the worker gets an error for answer. Empty content: nobody waits for
 * `serial` any more.
 */
void input_ask(struct kernel *kernel, struct origin *origin, uint64_t serial, struct slice content);

/* A message on the stdin socket. */
void input_receive(struct kernel *kernel, const struct wire_message *message);

#endif
