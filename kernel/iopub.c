/*
 * Builds, signs and sends IOPub messages in order. Runs in the kernel process,
 * on the thread of the zloop; only the free callback runs on ZeroMQ's.
 *
 * libzmq tells nobody how long its queues are. So contents travel as memory
 * whose free callback counts: what was handed over and not freed yet is what
 * the slowest subscriber still owes. The rest of a message is counted with its
 * content, as a flood of small ones is nearly all envelope.
 */

#include "kernel/iopub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "bridge/utf8.h"
#include "bridge/xalloc.h"
#include "kernel/log.h"

enum { TOPIC, DELIMITER, SIGNATURE, HEADER, PARENT, METADATA, CONTENT, FIRST_BUFFER };
enum { FRAME_COST = 160 }; /* bytes that ZeroMQ takes for a frame besides what is in it */

struct iopub_message {
    struct iopub_message *next;
    size_t part;   /* the part being signed */
    size_t offset; /* bytes of it that are signed */
    size_t frames;
    zmq_msg_t frame[];
};

/* Bytes that ZeroMQ holds for us, and the count they are taken off from. */
struct counted {
    _Atomic size_t *unsent;
    size_t n;
    struct link_mapping *mapping; /* not NULL: the bytes are its */
    uint8_t bytes[];
};

static void counted_free(void *data, void *hint)
{
    struct counted *self = hint;

    (void)data;
    atomic_fetch_sub(self->unsent, self->n);
    link_mapping_unref(self->mapping);
    free(self);
}

static void frame_copy(zmq_msg_t *frame, struct slice bytes)
{
    CHECK(zmq_msg_init_size(frame, bytes.n) == 0);
    if (bytes.n > 0) {
        memcpy(zmq_msg_data(frame), bytes.p, bytes.n);
    }
}

/* `besides`: bytes of other frames that go with this one. */
static void frame_counted(struct iopub *self, zmq_msg_t *frame, struct slice bytes, size_t besides,
                          struct link_mapping *mapping)
{
    struct counted *counted = xmalloc(sizeof *counted + (mapping ? 0 : bytes.n));
    void *data = mapping ? (void *)(uintptr_t)bytes.p : counted->bytes;

    counted->unsent = &self->unsent;
    counted->n = bytes.n + besides;
    counted->mapping = mapping ? link_mapping_ref(mapping) : NULL;
    if (!mapping && bytes.n > 0) {
        memcpy(counted->bytes, bytes.p, bytes.n);
    }
    atomic_fetch_add(&self->unsent, counted->n);
    self->published += counted->n;
    CHECK(zmq_msg_init_data(frame, data, bytes.n, counted_free, counted) == 0);
}

/* What a message takes besides its content and buffers: much more than those if it is small. */
static size_t envelope_size(const struct iopub_message *message)
{
    size_t size = (size_t)(CONTENT + 1) * FRAME_COST;

    for (size_t i = TOPIC; i < CONTENT; i++) {
        size += zmq_msg_size(&message->frame[i]);
    }
    return size;
}

static void message_destroy(struct iopub_message **self_p)
{
    struct iopub_message *self = *self_p;

    *self_p = NULL;
    for (size_t i = 0; self && i < self->frames; i++) {
        (void)zmq_msg_close(&self->frame[i]);
    }
    free(self);
}

void iopub_session_changed(struct iopub *self)
{
    (void)snprintf(self->prefix, sizeof self->prefix, "kernel.%s.", self->session->id);
}

void iopub_init(struct iopub *self, void *socket, struct session *session, struct signer *signer)
{
    memset(self, 0, sizeof *self);
    self->socket = socket;
    self->session = session;
    self->signer = signer;
    self->last = &self->first;
    iopub_session_changed(self);
}

void iopub_release(struct iopub *self)
{
    while (self->first) {
        struct iopub_message *message = self->first;

        self->first = message->next;
        message_destroy(&message);
    }
    self->last = &self->first;
    signer_destroy(&self->signer);
}

/* Topics as ipykernel's: clients subscribe to all, but tools filter by them. */
static void put_topic(const struct iopub *self, const char *type, struct slice content,
                      struct buffer *ret_topic)
{
    static const char to_stderr[] = "{\"name\":\"stderr\"";

    if (strcmp(type, "stream") == 0) {
        bool is_stderr = content.n >= sizeof to_stderr - 1 &&
                         memcmp(content.p, to_stderr, sizeof to_stderr - 1) == 0;

        buffer_put_text(ret_topic, is_stderr ? "stream.stderr" : "stream.stdout");
        return;
    }
    if (strcmp(type, "display_data") == 0 || strcmp(type, "update_display_data") == 0 ||
        strcmp(type, "clear_output") == 0) {
        buffer_put_text(ret_topic, "display_data");
        return;
    }
    buffer_put_text(ret_topic, self->prefix);
    buffer_put_text(ret_topic, type);
}

static struct slice frame_bytes(zmq_msg_t *frame)
{
    return (struct slice){zmq_msg_data(frame), zmq_msg_size(frame)};
}

/* Signs on for at most IOPUB_SLICE bytes. -> true when the signature is done. */
static bool sign_on(struct iopub *self, struct iopub_message *message)
{
    size_t budget = IOPUB_SLICE;

    while (message->part <= CONTENT) {
        struct slice left = frame_bytes(&message->frame[message->part]);

        left.p += message->offset;
        left.n -= message->offset;
        if (left.n > budget) {
            left.n = budget;
        }
        signer_add(self->signer, left);
        budget -= left.n;
        message->offset += left.n;
        if (message->offset < zmq_msg_size(&message->frame[message->part])) {
            return false;
        }
        message->part++;
        message->offset = 0;
    }
    return true;
}

/* XPUB never refuses: without a limit it queues or drops by itself. */
static void send_frames(struct iopub *self, struct iopub_message *message)
{
    int r = wire_send(message->frame, message->frames, self->socket);

    if (r < 0) {
        log_error("iopub message lost: %s", zmq_strerror(-r));
    }
}

void iopub_work(struct iopub *self)
{
    struct iopub_message *message = self->first;
    char hex[SIGN_HEX_MAX];

    if (!message) {
        return;
    }
    if (message->part == HEADER && message->offset == 0) {
        signer_start(self->signer);
    }
    if (!sign_on(self, message)) {
        return;
    }
    (void)zmq_msg_close(&message->frame[SIGNATURE]);
    frame_copy(&message->frame[SIGNATURE],
               (struct slice){(const uint8_t *)hex, signer_finish(self->signer, hex)});
    send_frames(self, message);
    self->first = message->next;
    if (!self->first) {
        self->last = &self->first;
    }
    message_destroy(&message);
}

bool iopub_is_busy(const struct iopub *self)
{
    return self->first != NULL;
}

/* Makes the message (metadata, content) and puts it behind the others; it leaves at once if there
 * are none. */
static void enqueue(struct iopub *self, struct slice topic, const char *type, struct slice parent,
                    const struct slice content[2], const struct slice *buffers, size_t count,
                    struct link_mapping *mapping)
{
    struct iopub_message *message =
        xcalloc(1, sizeof *message + (FIRST_BUFFER + count) * sizeof message->frame[0]);
    struct buffer header = BUFFER_INIT;
    bool was_busy = iopub_is_busy(self);

    message->part = HEADER;
    message->frames = FIRST_BUFFER + count;
    session_put_header(self->session, type, &header);
    frame_copy(&message->frame[TOPIC], topic);
    frame_copy(&message->frame[DELIMITER], slice_of("<IDS|MSG>"));
    frame_copy(&message->frame[SIGNATURE], slice_of(""));
    frame_copy(&message->frame[HEADER], buffer_slice(&header));
    frame_copy(&message->frame[PARENT], parent);
    frame_copy(&message->frame[METADATA], content[0]);
    frame_counted(self, &message->frame[CONTENT], content[1], envelope_size(message), mapping);
    for (size_t i = 0; i < count; i++) {
        frame_counted(self, &message->frame[FIRST_BUFFER + i], buffers[i], FRAME_COST, mapping);
    }
    buffer_release(&header);

    *self->last = message;
    self->last = &message->next;
    if (!was_busy) {
        iopub_work(self);
    }
    if (!was_busy && iopub_is_busy(self)) {
        self->on_busy(self->on_busy_arg);
    }
}

void iopub_publish_parts(struct iopub *self, const char *type, const struct origin *origin,
                         struct slice metadata, struct slice content, const struct slice *buffers,
                         size_t count, struct link_mapping *mapping)
{
    struct slice both[2] = {metadata, content};
    struct buffer topic = BUFFER_INIT;

    put_topic(self, type, content, &topic);
    enqueue(self, buffer_slice(&topic), type, origin ? origin->header : slice_of("{}"), both,
            buffers, count, mapping);
    buffer_release(&topic);
}

void iopub_publish(struct iopub *self, const char *type, const struct origin *origin,
                   struct slice metadata, struct slice content)
{
    iopub_publish_parts(self, type, origin, metadata, content, NULL, 0, NULL);
}

void iopub_stream(struct iopub *self, const struct origin *origin, int stream, struct slice text)
{
    struct buffer content = BUFFER_INIT;

    buffer_printf(&content, "{\"name\":\"%s\",\"text\":", stream == 0 ? "stdout" : "stderr");
    json_put_string(&content, text);
    buffer_put_char(&content, '}');
    iopub_publish(self, "stream", origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
}

void iopub_status(struct iopub *self, const struct origin *origin, const char *state)
{
    char content[64];

    (void)snprintf(content, sizeof content, "{\"execution_state\":\"%s\"}", state);
    iopub_publish(self, "status", origin, slice_of("{}"), slice_of(content));
}

/* The topic of a welcome is the subscription itself, so that its subscriber gets it. */
static void welcome(struct iopub *self, struct slice subscription)
{
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"subscription\":");
    json_put_string(&content, subscription);
    buffer_put_char(&content, '}');
    enqueue(self, subscription, "iopub_welcome", slice_of("{}"),
            (struct slice[]){slice_of("{}"), buffer_slice(&content)}, NULL, 0, NULL);
    buffer_release(&content);
}

void iopub_receive(struct iopub *self)
{
    for (;;) {
        zmq_msg_t frame;
        struct slice bytes;

        CHECK(zmq_msg_init(&frame) == 0);
        if (zmq_msg_recv(&frame, self->socket, ZMQ_DONTWAIT) == -1) {
            (void)zmq_msg_close(&frame);
            return;
        }
        /*
         * 1 and the topic: a subscription. 0: its end. Anything else is a
         * peer's own idea. A topic that is no UTF-8 cannot be told in JSON.
         */
        bytes = frame_bytes(&frame);
        if (bytes.n > 0 && bytes.p[0] == 1) {
            struct slice topic = {bytes.p + 1, bytes.n - 1};

            if (utf8_valid(topic) == topic.n) {
                welcome(self, topic);
            }
        }
        (void)zmq_msg_close(&frame);
    }
}

size_t iopub_unsent(const struct iopub *self)
{
    return atomic_load(&self->unsent);
}

uint64_t iopub_taken(const struct iopub *self)
{
    return self->published - iopub_unsent(self);
}
