/*
 * Answers heartbeats and kernel_info_request on control at once, and passes on what else
 * comes on control. Runs in the kernel process, on a thread of its own. Owns the sockets
 * of control and heartbeat while it runs, and its end of the pipe.
 *
 * Why a thread: the loop works in bursts while a cell floods it, and Linux lets a
 * thread that has just worked wait for its next turn, up to a tick (4 ms), even if another
 * processor has nothing to do. A thread that does next to nothing is let in at once. For the
 * same reason these two sockets have an I/O thread of ZeroMQ to themselves (sockets.c).
 *
 * It knows nothing of cells, so it can answer only what does not depend on them; an
 * interrupt does. The loop gets every message of control, as it came, with a frame before it
 * that says whether it has been answered. The loop judges it anew: it alone tells of what is
 * refused, and publishes busy and idle. (A kernel_info_request that came on shell and is replayed
 * here is answered, and refused by the loop. Nothing in the answer is secret.)
 *
 * Replies on control keep the order of the requests: while the loop has one that was not
 * answered here, the next ones are the loop's, too.
 */

#include "kernel/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/check.h"
#include "bridge/clock.h"
#include "bridge/xalloc.h"
#include "kernel/message.h"
#include "kernel/quiet_thread.h"
#include "kernel/refusals.h"
#include "kernel/requests/requests.h"

enum {
    BATCH = 64,            /* messages of one socket before the thread looks at the others */
    LOOKED_AT = 256 << 10, /* bytes of a message: a larger one would hold heartbeats up */
};

/* The loop counts from 1: what the thread sends has other numbers. */
static const uint64_t first_message = UINT64_C(1) << 48;

/* The frame before a message that goes to the loop. */
static const char replied_word[] = "replied", open_word[] = "open";

static const char end_word[] = "end"; /* a message of this one frame ends the thread */

struct control {
    pthread_t thread;
    struct sockets *sockets;
    zsock_t *control, *heartbeat;
    zsock_t *far; /* the thread's end of the pipe; the loop's is in `sockets` */
    struct signer *signer;
    struct replay *replay;
    struct wire_message message; /* of a client, the one being handled */
    struct wire_message answer;  /* the same, of the loop */
    struct refusals refusals;    /* messages that were dropped */
    uint64_t dropped;            /* replies, for want of a client that reads */
    uint64_t open;               /* messages that were passed on without a reply */
    bool ended;

    _Atomic uint64_t done; /* the loop is done with so many of these */

    pthread_mutex_t lock; /* of what the loop changes: */
    struct session session;
    struct buffer info; /* content of the reply */
};

/* ---- the thread ------------------------------------------------------------ */

/* Echoes a ping's frames as they are, identity first. -> false: there was none. */
static bool beat(struct control *self)
{
    int r = wire_receive(zsock_resolve(self->heartbeat), &self->message);

    if (r == 0) {
        (void)wire_send(self->message.frame, self->message.frames, zsock_resolve(self->heartbeat));
    }
    return r != -EAGAIN;
}

static void reply(struct control *self, const struct wire_message *message)
{
    struct origin *origin = origin_new(message, CHANNEL_CONTROL);
    int r;

    (void)pthread_mutex_lock(&self->lock);
    r = message_send(zsock_resolve(self->control), &self->session, self->signer, origin,
                     "kernel_info_reply", slice_of("{}"), buffer_slice(&self->info), NULL);
    (void)pthread_mutex_unlock(&self->lock);
    message_tell_lost(r, "kernel_info_reply", &self->dropped);
    origin_unref(&origin);
}

/* The loop has no limit to what waits for it: nothing is lost here. */
static void pass_on(struct control *self, struct wire_message *message, bool replied)
{
    const char *word = replied ? replied_word : open_word;

    self->open += replied ? 0 : 1;
    (void)zmq_send(zsock_resolve(self->far), word, strlen(word), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    (void)wire_send(message->frame, message->frames, zsock_resolve(self->far));
}

/* One message of the loop. -> false: there was none. */
static bool hear_loop(struct control *self)
{
    struct wire_message *message = &self->answer;

    if (wire_receive(zsock_resolve(self->far), message) == -EAGAIN) {
        return false;
    }
    if (message->frames == 1 && slice_is(wire_frame(message, 0), end_word)) {
        self->ended = true;
    } else {
        int r = wire_send(message->frame, message->frames, zsock_resolve(self->control));

        message_tell_lost(r, "a reply on control", &self->dropped);
    }
    wire_message_release(message);
    return true;
}

/* Whether a reply may leave now. What the loop has replied before is sent first. */
static bool is_next(struct control *self)
{
    if (self->open != atomic_load(&self->done)) {
        return false;
    }
    while (hear_loop(self)) {
    }
    return true;
}

/* Whether it is a request that needs no loop. */
static bool is_ours(struct control *self, struct wire_message *message)
{
    size_t size = 0;

    for (size_t i = 0; i < message->frames; i++) {
        size += wire_frame(message, i).n;
    }
    return size <= LOOKED_AT && wire_open(message, self->signer, self->replay) == 0 &&
           message->content_error == 0 && slice_is(message->msg_type, "\"kernel_info_request\"");
}

/* One message of a client: answered perhaps, passed on always. -> false: there was none. */
static bool hear_client(struct control *self)
{
    struct wire_message *message = &self->message;
    int r = wire_receive(zsock_resolve(self->control), message);

    if (r == 0) {
        bool replies = is_ours(self, message) && is_next(self);

        if (replies) {
            reply(self, message);
        }
        pass_on(self, message, replies);
    } else if (r != -EAGAIN) { /* nothing whole that the loop could judge */
        refusals_tell(&self->refusals, clock_us(CLOCK_MONOTONIC), "message on control dropped: %s",
                      wire_error_text(r));
    }
    return r != -EAGAIN;
}

static void *run(void *arg)
{
    struct control *self = arg;
    static bool (*const hear[])(struct control *) = {hear_loop, hear_client, beat};
    zmq_pollitem_t items[] = {
        {.socket = zsock_resolve(self->far), .events = ZMQ_POLLIN},
        {.socket = zsock_resolve(self->control), .events = ZMQ_POLLIN},
        {.socket = zsock_resolve(self->heartbeat), .events = ZMQ_POLLIN},
    };

    while (!self->ended) {
        (void)zmq_poll(items, (int)(sizeof items / sizeof items[0]), -1);
        for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
            for (int n = 0; n < BATCH && !self->ended && hear[i](self); n++) {
                wire_message_release(&self->message);
            }
            wire_message_release(&self->message); /* what came of one that was refused */
        }
    }
    return NULL;
}

/* ---- the loop ---------------------------------------------------------------- */

void control_tell(struct control *self, const struct session *session, const char *version)
{
    uint64_t messages;

    if (!self) {
        return;
    }
    (void)pthread_mutex_lock(&self->lock);
    messages = self->session.messages;
    self->session = *session;
    self->session.messages = messages;
    buffer_clear(&self->info);
    kernel_info_put(version, &self->info);
    (void)pthread_mutex_unlock(&self->lock);
}

int control_receive(struct control *self, struct wire_message *ret_message, bool *ret_replied)
{
    void *near = sockets_handle(self->sockets, CHANNEL_CONTROL);
    char word[sizeof replied_word];
    int n;

    do {
        n = zmq_recv(near, word, sizeof word, ZMQ_DONTWAIT);
    } while (n == -1 && errno == EINTR);
    if (n == -1) {
        CHECK(errno == EAGAIN);
        return -EAGAIN;
    }
    *ret_replied = n == sizeof replied_word - 1 && memcmp(word, replied_word, (size_t)n) == 0;
    return wire_receive(near, ret_message);
}

void control_done(struct control *self)
{
    atomic_fetch_add(&self->done, 1);
}

static void release(struct control **self_p)
{
    struct control *self = *self_p;

    *self_p = NULL;
    refusals_tell_rest(&self->refusals);
    zsock_destroy(&self->far);
    signer_destroy(&self->signer);
    replay_destroy(&self->replay);
    buffer_release(&self->info);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

int control_new(struct sockets *sockets, const struct connection *connection,
                const struct session *session, const char *version, struct control **ret_control)
{
    struct control *self = xcalloc(1, sizeof *self);
    zsock_t *near = zsys_create_pipe(&self->far);
    int r;

    CHECK(near && signer_new(connection->scheme, slice_of(connection->key), &self->signer) == 0);
    self->replay = replay_new(REPLAY_WINDOW);
    (void)pthread_mutex_init(&self->lock, NULL);
    self->session.messages = first_message;
    control_tell(self, session, version);
    self->sockets = sockets;
    self->control = sockets->socket[CHANNEL_CONTROL];
    self->heartbeat = sockets->socket[CHANNEL_HB];
    r = quiet_thread_start(&self->thread, run, self);
    if (r < 0) {
        zsock_destroy(&near);
        release(&self);
        return r;
    }
    (void)pthread_setname_np(self->thread, "control");
    sockets->socket[CHANNEL_CONTROL] = near;
    sockets->socket[CHANNEL_HB] = NULL;
    *ret_control = self;
    return 0;
}

void control_destroy(struct control **self_p)
{
    struct control *self = *self_p;
    zsock_t **near;

    if (!self) {
        return;
    }
    near = &self->sockets->socket[CHANNEL_CONTROL];
    CHECK(zstr_send(*near, end_word) == 0 && pthread_join(self->thread, NULL) == 0);
    zsock_destroy(near);
    *near = self->control;
    self->sockets->socket[CHANNEL_HB] = self->heartbeat;
    release(self_p);
}
