#ifndef KERNEL_WIRE_H
#define KERNEL_WIRE_H

/*
 * Messages as frames (Messaging spec, "The wire protocol"): taken apart,
 * verified over the raw bytes, and only then looked into.
 */

#include <zmq.h>

#include "bridge/slice.h"
#include "kernel/sign.h"

enum {
    WIRE_FRAMES_MAX = 1024,     /* frames of one message */
    WIRE_IDENTITIES_MAX = 16,   /* routing frames before the delimiter */
    WIRE_HEADER_MAX = 64 << 10, /* bytes of header and of parent_header */
    WIRE_DEPTH_MAX = 100,       /* nesting of any JSON part */
};
#define WIRE_FRAME_MAX ((size_t)1 << 30) /* bytes of any one frame */

enum wire_error {
    WIRE_EDELIMITER = -12001, /* no <IDS|MSG> */
    WIRE_EFRAMES = -12002,    /* too few or too many frames */
    WIRE_ESIZE = -12003,      /* a part is too large */
    WIRE_ESIGNATURE = -12004, /* wrong or missing signature */
    WIRE_EREPLAY = -12005,    /* this signature was seen before */
    WIRE_EHEADER = -12006,    /* the header is no JSON object, or msg_id or msg_type is no string */
    WIRE_EJSON = -12007,      /* parent_header, metadata or content is no JSON object */
};

/* One line for any error of this header, JSON_E… and -errno. Static, or strerror's. */
const char *wire_error_text(int error);

/* A received message. All slices point into `frame`. */
struct wire_message {
    zmq_msg_t frame[WIRE_FRAMES_MAX];
    size_t frames;
    size_t identities; /* the first ones of them */
    struct slice signature, header, parent_header, metadata, content;
    size_t first_buffer;           /* index of the first buffer frame; frames if none */
    struct slice msg_id, msg_type; /* raw JSON strings, with quotes */
    int content_error;    /* 0, or why a part of it cannot be used (JSON_E…, WIRE_EJSON) */
    const char *bad_part; /* which: "parent_header", "metadata" or "content"; static */
};

/* The bytes of a frame. Borrowed. */
static inline struct slice wire_frame(const struct wire_message *self, size_t i)
{
    zmq_msg_t *frame = (zmq_msg_t *)(uintptr_t)&self->frame[i]; /* zmq takes no const */

    return (struct slice){zmq_msg_data(frame), zmq_msg_size(frame)};
}

/*
 * Receives one whole message without waiting. `ret_message` holds none: it is
 * fresh (of its frames only those in use are ever touched, so it need not be
 * zeroed for this) or released. What came is kept even on failure, so the
 * caller can log it; release it in every case but -EAGAIN (where it does no harm).
 * -> 0, -EAGAIN: none there, WIRE_EFRAMES, WIRE_ESIZE (the rest was read and
 * dropped), another -errno from ZeroMQ.
 */
int wire_receive(void *socket, struct wire_message *ret_message);

/*
 * Sends frames as one message, and leaves them empty. Without waiting.
 * -> 0; -errno of the first one, and nothing was sent.
 */
int wire_send(zmq_msg_t *frame, size_t frames, void *socket);

/* Closes its frames. A zeroed or released one is fine; it can be used again. */
void wire_message_release(struct wire_message *self);

/*
 * Finds the parts, verifies the signature over the raw bytes, checks that it
 * is no replay, stores it, then checks the header's JSON. Nothing of the JSON
 * is read before the signature is right. Without a key there are no signatures,
 * and so no replays. A bad parent_header, metadata or content (not JSON, not an
 * object, too deep) is no error here but in content_error: the sender is known
 * and gets a reply. A parent_header may be null.
 * -> 0 or an enum wire_error.
 */
int wire_open(struct wire_message *self, struct signer *signer, struct replay *replay);

#endif
