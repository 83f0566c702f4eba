#ifndef TESTS_UNIT_MESSAGE_FIXTURE_H
#define TESTS_UNIT_MESSAGE_FIXTURE_H

/*
 * Messages and sockets for the tests of the kernel's parts: a request as the
 * wire delivers it, and a pair of connected sockets to look at what is sent.
 */

#include <criterion/criterion.h>
#include <czmq.h>

#include "bridge/json_text.h"
#include "kernel/origin.h"
#include "kernel/sign.h"
#include "kernel/wire.h"

/* A request with one identity frame and that header; an origin made of it. */
static inline struct origin *fixture_origin(const char *identity, const char *header)
{
    struct wire_message *message = calloc(1, sizeof *message);
    struct origin *origin;

    message->frames = 1;
    message->identities = 1;
    cr_assert(zmq_msg_init_size(&message->frame[0], strlen(identity)) == 0);
    memcpy(zmq_msg_data(&message->frame[0]), identity, strlen(identity));
    message->header = slice_of(header);
    cr_assert(json_object_get_kind(message->header, "msg_type", JSON_STRING, &message->msg_type) ==
              0);
    origin = origin_new(message, CHANNEL_SHELL);
    wire_message_release(message);
    free(message);
    return origin;
}

/* A subscriber to everything, connected to an XPUB of its own. */
struct fixture_iopub {
    zsock_t *xpub, *sub;
};

static inline void fixture_iopub_init(struct fixture_iopub *self)
{
    (void)zsys_handler_set(NULL);
    self->xpub = zsock_new(ZMQ_XPUB);
    zsock_set_xpub_verbose(self->xpub, 1);
    zsock_set_sndhwm(self->xpub, 0);
    cr_assert(zsock_bind(self->xpub, "inproc://iopub") == 0);
    self->sub = zsock_new(ZMQ_SUB);
    zsock_set_subscribe(self->sub, "");
    zsock_set_rcvhwm(self->sub, 0);
    zsock_set_rcvtimeo(self->sub, 10000);
    cr_assert(zsock_connect(self->sub, "inproc://iopub") == 0);
}

static inline void fixture_iopub_release(struct fixture_iopub *self)
{
    zsock_destroy(&self->sub);
    zsock_destroy(&self->xpub);
    zsys_shutdown();
}

/* The content of the next message; the caller frees it. */
static inline char *fixture_content(struct fixture_iopub *self)
{
    zmsg_t *message = zmsg_recv(self->sub);
    char *content = NULL;

    cr_assert(message, "no message came");
    for (int i = 0; i < 6; i++) {
        zframe_t *frame = zmsg_pop(message);

        zframe_destroy(&frame);
    }
    content = zmsg_popstr(message);
    zmsg_destroy(&message);
    return content;
}

#endif
