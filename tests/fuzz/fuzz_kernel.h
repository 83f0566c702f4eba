#ifndef TESTS_FUZZ_FUZZ_KERNEL_H
#define TESTS_FUZZ_FUZZ_KERNEL_H

/*
 * A kernel for fuzz targets, in this process alone: its sockets are inproc, its
 * worker is the other end of a real door, held here, and one client is connected
 * to all of it. Nothing waits: a turn of the loop ends with the reply to a
 * request of its own. Whatever the client is told is checked as a client checks
 * it: signature, no repetition, JSON.
 */

#include <czmq.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/router.h"

enum { SUBJECT_ASKED_MAX = 64 };

/* What a request of the client's must lead to, and has led to. */
struct asked {
    bool is_request; /* on stdin nothing is */
    int replies_due, replies, busy, idle;
};

struct subject {
    struct options options;
    struct kernel *kernel;
    zsock_t *client[CHANNELS];
    struct signer *signer; /* the client's */
    struct replay *replay; /* what it was told */
    struct wire_message told;
    struct link_producer worker;
    struct link_reader reader;
    int stdio[2];
    size_t turns, asks;
    struct asked asked[SUBJECT_ASKED_MAX]; /* "fuzz-0", "fuzz-1", … */
    size_t count;
    bool wild; /* the worker said what is no message: what is passed on may be none */
};

/* The names of a run: a closed socket may keep its own for a moment. */
static inline zsock_t *subject_socket(const char *name, int type, bool kernels)
{
    static size_t run;
    zsock_t *socket = zsock_new(type);
    CHECK(socket != NULL);
    zsock_set_linger(socket, 0);
    zsock_set_sndhwm(socket, 0);
    zsock_set_rcvhwm(socket, 0);
    if (type == ZMQ_DEALER) {
        zsock_set_identity(socket, "client");
    }
    if (type == ZMQ_XPUB) {
        zsock_set_xpub_verbose(socket, 1);
    }
    run += kernels && strcmp(name, channel_names[0]) == 0;
    int r = kernels ? zsock_bind(socket, "inproc://%s-%zu", name, run)
                    : zsock_connect(socket, "inproc://%s-%zu", name, run);
    CHECK(r == 0);
    return socket;
}

static inline struct signer *subject_signer(void)
{
    struct signer *signer = NULL;
    CHECK(signer_new("hmac-sha256", slice_of("a key"), &signer) == 0);
    return signer;
}

/* Sends signed parts: header, parent_header, metadata, content, buffers. */
static inline void subject_send(struct subject *self, enum channel channel,
                                const struct slice *part, size_t count)
{
    void *handle = zsock_resolve(self->client[channel]);
    char hex[SIGN_HEX_MAX];
    signer_start(self->signer);
    for (int i = 0; i < 4; i++) {
        signer_add(self->signer, part[i]);
    }
    size_t n = signer_finish(self->signer, hex);
    CHECK(zmq_send(handle, "<IDS|MSG>", 9, ZMQ_SNDMORE) == 9);
    CHECK(zmq_send(handle, hex, n, ZMQ_SNDMORE) == (int)n);
    for (size_t i = 0; i < count; i++) {
        int more = i + 1 < count ? ZMQ_SNDMORE : 0;
        CHECK(zmq_send(handle, part[i].p, part[i].n, more) == (int)part[i].n);
    }
}

/* The request that a message is for; NULL: none of those that are counted. */
static inline struct asked *subject_asked(struct subject *self)
{
    struct slice id;
    if (json_object_get_kind(self->told.parent_header, "msg_id", JSON_STRING, &id) == 0) {
        for (size_t i = 0; i < self->count; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "fuzz-%zu", i);
            if (json_string_is(id, name)) {
                return &self->asked[i];
            }
        }
    }
    return NULL;
}

static inline void subject_note(struct subject *self, enum channel channel)
{
    struct asked *asked = subject_asked(self);
    struct slice state;
    if (asked != NULL && channel != CHANNEL_IOPUB && channel != CHANNEL_STDIN) {
        asked->replies++;
    } else if (asked != NULL && json_string_is(self->told.msg_type, "status") &&
               json_object_get_kind(self->told.content, "execution_state", JSON_STRING, &state) ==
                   0) {
        asked->busy += json_string_is(state, "busy");
        asked->idle += json_string_is(state, "idle");
    }
}

/* Takes all that the client was told. */
static inline void subject_listen(struct subject *self)
{
    static const enum channel channels[] = {CHANNEL_SHELL, CHANNEL_CONTROL, CHANNEL_STDIN,
                                            CHANNEL_IOPUB};
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        void *handle = zsock_resolve(self->client[channels[i]]);
        while (wire_receive(handle, &self->told) == 0) {
            CHECK(wire_open(&self->told, self->signer, self->replay) == 0);
            CHECK(self->told.content_error == 0 || self->wild);
            CHECK(self->told.identities == (channels[i] == CHANNEL_IOPUB ? 1 : 0));
            subject_note(self, channels[i]);
            wire_message_release(&self->told);
        }
    }
}

static inline int subject_end_turn(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    (void)socket;
    (void)arg;
    return -1;
}

/* Runs the loop until all that was sent before has been seen to. */
static inline void subject_turn(struct subject *self)
{
    char header[80];
    (void)snprintf(header, sizeof header,
                   "{\"msg_id\":\"turn-%zu\",\"msg_type\":\"connect_request\"}", ++self->turns);
    const struct slice part[] = {slice_of(header), slice_of("{}"), slice_of("{}"), slice_of("{}")};
    subject_listen(self);
    subject_send(self, CHANNEL_CONTROL, part, 4);
    while (!self->kernel->finished &&
           (zsock_events(self->client[CHANNEL_CONTROL]) & ZMQ_POLLIN) == 0) {
        (void)zloop_start(self->kernel->loop);
    }
    subject_listen(self);
}

/* The kernel takes what the worker has said. */
static inline void subject_hear_worker(struct subject *self)
{
    door_drain(self->kernel);
    door_start(self->kernel);
    subject_listen(self);
}

static inline void subject_say(struct subject *self, enum link_kind kind, uint64_t number,
                               const struct slice *part, size_t count)
{
    CHECK(link_producer_write_parts(&self->worker, kind, number, part, count, NULL) == 0);
    subject_hear_worker(self);
}

static inline void subject_say_ready(struct subject *self)
{
    struct slice version = slice_of("3.11.2");
    subject_say(self, LINK_READY, 0, &version, 1);
}

/* Its Python never starts: each cell is told so. */
static inline void subject_break(struct subject *self)
{
    self->kernel->worker = WORKER_BROKEN;
    self->kernel->start_error = strdup("no Python");
}

static inline void subject_on_busy(void *arg)
{
    door_continue(arg);
}

static inline void subject_init_kernel(struct kernel *kernel, const struct options *options)
{
    static const int types[CHANNELS] = {
        [CHANNEL_SHELL] = ZMQ_ROUTER,   [CHANNEL_IOPUB] = ZMQ_XPUB, [CHANNEL_STDIN] = ZMQ_ROUTER,
        [CHANNEL_CONTROL] = ZMQ_ROUTER, [CHANNEL_HB] = ZMQ_ROUTER,
    };
    kernel->options = options;
    kernel->supervisor.pidfd = kernel->signal_fd = -1;
    kernel->door_timer = kernel->output_timer = kernel->interrupt_timer = -1;
    kernel->stall_timer = -1;
    kernel->watched[0] = kernel->watched[1] = kernel->watched[2] = -1;
    cell_marker_init(&kernel->marker);
    kernel->trimmed = true;
    session_init(&kernel->session, "fuzz");
    kernel->signer = subject_signer();
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        kernel->sockets.socket[channel] =
            subject_socket(channel_names[channel], types[channel], true);
    }
    zsock_set_router_mandatory(kernel->sockets.socket[CHANNEL_STDIN], 1);
    iopub_init(&kernel->iopub, sockets_handle(&kernel->sockets, CHANNEL_IOPUB), &kernel->session,
               subject_signer());
    kernel->iopub.on_busy = subject_on_busy;
    kernel->iopub.on_busy_arg = kernel;
}

/* What a run leaves in the kernel that the next must not find. */
static inline void subject_forget(struct subject *self)
{
    struct kernel *kernel = self->kernel;
    CHECK(!iopub_is_busy(&kernel->iopub));
    lane_release(&kernel->lane);
    remember_release(kernel);
    comms_release(&kernel->comms);
    input_release(&kernel->input);
    output_release(&kernel->output);
    origins_release(&kernel->origins);
    replay_destroy(&kernel->replay);
    replay_destroy(&self->replay);
    buffer_release(&kernel->start_text);
    buffer_release(&kernel->fd2);
    memset(&kernel->refusals, 0, sizeof kernel->refusals);
    free(kernel->start_error);
    kernel->start_error = NULL;
}

static inline void subject_fresh(struct subject *self)
{
    struct kernel *kernel = self->kernel;
    lane_init(&kernel->lane);
    input_init(&kernel->input);
    output_init(&kernel->output, &kernel->iopub, 0);
    memset(&kernel->history, 0, sizeof kernel->history);
    memset(&kernel->comms, 0, sizeof kernel->comms);
    memset(&kernel->origins, 0, sizeof kernel->origins);
    kernel->replay = replay_new(SUBJECT_ASKED_MAX);
    kernel->worker = WORKER_STARTING;
    self->replay = replay_new(REPLAY_WINDOW);
    memset(self->asked, 0, sizeof self->asked);
    self->turns = self->asks = self->count = 0;
    self->wild = false;
}

/* A new kernel whose worker is there and has said nothing yet. */
static inline void subject_init(struct subject *self)
{
    struct link_fds fds;
    memset(self, 0, sizeof *self);
    self->signer = subject_signer();
    struct kernel *kernel = self->kernel = calloc(1, sizeof *self->kernel);
    CHECK(kernel != NULL);
    subject_init_kernel(kernel, &self->options);
    subject_fresh(self);
    CHECK(link_consumer_init(&kernel->door, &fds, self->stdio) == 0);
    CHECK(link_producer_init(&self->worker, &fds) == 0);
    CHECK(link_reader_init(&self->reader, &self->worker) == 0);
    link_sender_init(&kernel->sender, &kernel->door);
    kernel->loop = zloop_new();
    zloop_set_nonstop(kernel->loop, true);
    router_start(kernel);
    door_start(kernel);
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        if (channel != CHANNEL_HB) {
            int type = channel == CHANNEL_IOPUB ? ZMQ_SUB : ZMQ_DEALER;
            self->client[channel] = subject_socket(channel_names[channel], type, false);
        }
    }
    zsock_set_subscribe(self->client[CHANNEL_IOPUB], "");
    (void)zloop_reader(kernel->loop, self->client[CHANNEL_CONTROL], subject_end_turn, NULL);
    subject_turn(self);
}

static inline void subject_release(struct subject *self)
{
    struct kernel *kernel = self->kernel;
    subject_forget(self);
    zloop_destroy(&kernel->loop);
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        zsock_destroy(&self->client[channel]);
        zsock_destroy(&kernel->sockets.socket[channel]);
    }
    iopub_release(&kernel->iopub);
    signer_destroy(&kernel->signer);
    link_sender_release(&kernel->sender);
    link_reader_release(&self->reader);
    link_producer_release(&self->worker);
    link_consumer_release(&kernel->door);
    free(kernel);
    signer_destroy(&self->signer);
    (void)close(self->stdio[0]);
    (void)close(self->stdio[1]);
}

/* A kernel as new for the next run: the last one's, unless that was told to end. */
static inline void subject_begin(struct subject *self)
{
    if (self->kernel != NULL && (self->kernel->stopping || self->kernel->door_corrupt)) {
        subject_release(self);
        self->kernel = NULL;
    }
    if (self->kernel == NULL) {
        subject_init(self);
    } else {
        subject_forget(self);
        subject_fresh(self);
    }
}

#endif
