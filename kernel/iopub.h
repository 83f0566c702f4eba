#ifndef KERNEL_IOPUB_H
#define KERNEL_IOPUB_H

/*
 * Messages for all clients (Messaging spec, "Messages on the IOPub channel").
 *
 * Order is everything here: a message leaves after all that were published
 * before it. Signing a large one takes longer than the loop may be held up, so
 * it is signed in slices; while one is in work the others queue behind it, and
 * whoever drains the door should pause (iopub_is_busy).
 */

#include <stdatomic.h>

#include "bridge/link.h"
#include "kernel/origin.h"
#include "kernel/session.h"

enum {
    IOPUB_SLICE = 256 << 10,      /* bytes signed in one go */
    IOPUB_BACKLOG_MAX = 32 << 20, /* unsent bytes above which the worker waits */
};

struct iopub_message;

struct iopub {
    void *socket; /* XPUB; not owned */
    struct session *session;
    struct signer *signer; /* owned; of its own, since a signature may be half done */
    char prefix[64];       /* of topics: "kernel.<session>." */
    struct iopub_message *first, **last;
    _Atomic size_t unsent;      /* bytes of messages that ZeroMQ still holds */
    uint64_t published;         /* bytes ever handed to it */
    void (*on_busy)(void *arg); /* a message could not leave at once: iopub_work is wanted */
    void *on_busy_arg;
};

/* Takes the signer. The caller sets on_busy. */
void iopub_init(struct iopub *self, void *socket, struct session *session, struct signer *signer);

/* The session has another id: topics have it from now on. */
void iopub_session_changed(struct iopub *self);

/*
 * Drops what is queued. Call it after the socket is closed: ZeroMQ's threads
 * count `unsent` down until then.
 */
void iopub_release(struct iopub *self);

/*
 * Publishes a message; metadata and content are JSON objects as text, copied.
 * origin NULL: parent_header {}.
 */
void iopub_publish(struct iopub *self, const char *type, const struct origin *origin,
                   struct slice metadata, struct slice content);

/*
 * The same with buffers. `mapping`, if not NULL, holds the bytes of content
 * and buffers: they are not copied, and it is kept until ZeroMQ is done.
 */
void iopub_publish_parts(struct iopub *self, const char *type, const struct origin *origin,
                         struct slice metadata, struct slice content, const struct slice *buffers,
                         size_t count, struct link_mapping *mapping);

/* Text of stdout (0) or stderr (1), UTF-8 (Messaging spec, "Streams"). */
void iopub_stream(struct iopub *self, const struct origin *origin, int stream, struct slice text);

/* status busy, idle, starting. */
void iopub_status(struct iopub *self, const struct origin *origin, const char *state);

/* Answers what subscribers said on the XPUB: iopub_welcome (JEP 65) to each subscription. */
void iopub_receive(struct iopub *self);

/* A message is being signed: call iopub_work soon and until it is false. */
bool iopub_is_busy(const struct iopub *self);
void iopub_work(struct iopub *self);

/* Bytes of memory for what subscribers have not taken yet. */
size_t iopub_unsent(const struct iopub *self);

/* Bytes that all of them have taken, ever: stands still when one of them does. */
uint64_t iopub_taken(const struct iopub *self);

#endif
