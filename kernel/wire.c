/*
 * Frames to messages, for the ROUTER sockets.
 *
 * Runs in the kernel process, on the thread of the socket. This is where bytes of
 * strangers come in, so the order of the steps is the point: count, sizes,
 * signature over the raw bytes, replay, and JSON last. Nothing is copied: a
 * message keeps ZeroMQ's frames, and everything else points into them. Owns
 * the frames of a message until its release.
 */

#include "kernel/wire.h"

#include <errno.h>

#include "bridge/check.h"
#include "bridge/json_text.h"

enum { PARTS = 4, FRAMES_MIN = 1 + PARTS }; /* behind the delimiter: signature and four parts */

const char *wire_error_text(int error)
{
    switch ((enum wire_error)error) {
    case WIRE_EDELIMITER:
        return "no <IDS|MSG> delimiter";
    case WIRE_EFRAMES:
        return "too few or too many frames";
    case WIRE_ESIZE:
        return "a part is too large";
    case WIRE_ESIGNATURE:
        return "wrong or missing signature";
    case WIRE_EREPLAY:
        return "a signature seen before";
    case WIRE_EHEADER:
        return "the header is no JSON object with the strings msg_id and msg_type";
    case WIRE_EJSON:
        return "not a JSON object";
    }
    return error <= JSON_ESYNTAX && error >= JSON_ENOENT ? json_error_text(error)
                                                         : strerror(-error);
}

/* ---- receiving --------------------------------------------------------------- */

/* -> 0; -errno, and the frame is closed. */
static int receive_frame(void *socket, zmq_msg_t *ret_frame)
{
    (void)zmq_msg_init(ret_frame);
    while (zmq_msg_recv(ret_frame, socket, ZMQ_DONTWAIT) < 0) {
        int error = errno;
        if (error != EINTR) {
            (void)zmq_msg_close(ret_frame);
            return -error;
        }
    }
    return 0;
}

/* Reads and forgets what is left of a message, so the next one is next. */
static int drop_rest(void *socket)
{
    bool more = true;
    while (more) {
        zmq_msg_t frame;
        int error = receive_frame(socket, &frame);
        if (error != 0) {
            return error;
        }
        more = zmq_msg_more(&frame) != 0;
        (void)zmq_msg_close(&frame);
    }
    return 0;
}

/* A message is at hand only when all of it is, so its later frames need no waiting either. */
int wire_receive(void *socket, struct wire_message *ret_message)
{
    ret_message->frames = 0;
    bool more = true;
    while (more) {
        zmq_msg_t *frame = &ret_message->frame[ret_message->frames];
        int error = receive_frame(socket, frame);
        if (error != 0) {
            return error;
        }
        ret_message->frames++;
        more = zmq_msg_more(frame) != 0;

        bool large = zmq_msg_size(frame) > WIRE_FRAME_MAX;
        if (large || (more && ret_message->frames == WIRE_FRAMES_MAX)) {
            error = more ? drop_rest(socket) : 0;
            return error != 0 ? error : large ? WIRE_ESIZE : WIRE_EFRAMES;
        }
    }
    return 0;
}

/* What takes a message's first frame takes the rest of it. */
int wire_send(zmq_msg_t *frame, size_t frames, void *socket)
{
    for (size_t i = 0; i < frames; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < frames ? ZMQ_SNDMORE : 0);
        if (zmq_msg_send(&frame[i], socket, flags) == -1) {
            return -errno;
        }
    }
    return 0;
}

void wire_message_release(struct wire_message *self)
{
    for (size_t i = 0; i < self->frames; i++) {
        (void)zmq_msg_close(&self->frame[i]);
    }
    self->frames = 0;
}

/* ---- opening ------------------------------------------------------------------- */

/* Names the parts. -> 0, WIRE_EDELIMITER, WIRE_EFRAMES, WIRE_ESIZE. */
static int find_parts(struct wire_message *self)
{
    size_t at = 0;
    while (at < self->frames && at <= WIRE_IDENTITIES_MAX &&
           !slice_is(wire_frame(self, at), "<IDS|MSG>")) {
        at++;
    }
    if (at == self->frames || at > WIRE_IDENTITIES_MAX) {
        return WIRE_EDELIMITER;
    }
    self->identities = at++;
    if (self->frames - at < FRAMES_MIN) {
        return WIRE_EFRAMES;
    }
    self->signature = wire_frame(self, at++);
    self->header = wire_frame(self, at++);
    self->parent_header = wire_frame(self, at++);
    self->metadata = wire_frame(self, at++);
    self->content = wire_frame(self, at++);
    self->first_buffer = at;
    if (self->header.n > WIRE_HEADER_MAX || self->parent_header.n > WIRE_HEADER_MAX) {
        return WIRE_ESIZE;
    }
    return 0;
}

/* -> 0, WIRE_ESIGNATURE, WIRE_EREPLAY. */
static int check_signature(struct wire_message *self, struct signer *signer, struct replay *replay)
{
    struct slice parts[PARTS] = {self->header, self->parent_header, self->metadata, self->content};
    if (!signer_verify(signer, parts, PARTS, self->signature)) {
        return WIRE_ESIGNATURE;
    }
    if (replay_has(replay, self->signature)) {
        return WIRE_EREPLAY;
    }
    replay_store(replay, self->signature);
    return 0;
}

static int check_header(struct wire_message *self)
{
    enum json_kind kind;
    if (json_check(self->header, WIRE_DEPTH_MAX, &kind) != 0 || kind != JSON_OBJECT ||
        json_object_get_kind(self->header, "msg_id", JSON_STRING, &self->msg_id) != 0 ||
        json_object_get_kind(self->header, "msg_type", JSON_STRING, &self->msg_type) != 0) {
        return WIRE_EHEADER;
    }
    return 0;
}

/* Notes the first part that is not what it should be. */
static void check_part(struct wire_message *self, const char *name, struct slice part,
                       bool may_be_null)
{
    enum json_kind kind;
    int error = json_check(part, WIRE_DEPTH_MAX, &kind);
    if (error == 0 && kind != JSON_OBJECT && !(may_be_null && kind == JSON_NULL)) {
        error = WIRE_EJSON;
    }
    if (error != 0 && self->content_error == 0) {
        self->content_error = error;
        self->bad_part = name;
    }
}

int wire_open(struct wire_message *self, struct signer *signer, struct replay *replay)
{
    CHECK(self->frames <= WIRE_FRAMES_MAX);
    self->content_error = 0;
    self->bad_part = NULL;
    int error = find_parts(self);
    if (error == 0) {
        error = check_signature(self, signer, replay);
    }
    if (error == 0) {
        error = check_header(self);
    }
    if (error != 0) {
        return error;
    }
    check_part(self, "parent_header", self->parent_header, true);
    check_part(self, "metadata", self->metadata, false);
    check_part(self, "content", self->content, false);
    return 0;
}
