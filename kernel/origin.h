#ifndef KERNEL_ORIGIN_H
#define KERNEL_ORIGIN_H

/*
 * Where a message comes from: all that is needed of a request as long as
 * somebody can still speak in its name. Threads and tasks go on after their
 * cell is idle, so the origins of the last ORIGINS_KEPT requests that reached
 * Python are kept.
 */

#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"
#include "bridge/visible.h"
#include "kernel/connection.h"
#include "kernel/wire.h"

enum { ORIGINS_KEPT = 4096 };

/* How much of a stream's text the request has had so far; see output.h. */
struct output_quota {
    struct visible visible; /* up to the bound */
    size_t published;       /* characters, overwritten ones too */
    int64_t since_us;       /* when the first were published, CLOCK_MONOTONIC; 0: none yet */
    size_t dropped;         /* characters beyond the bound */
    struct buffer tail;     /* the last of what was dropped, UTF-8 */
    bool closed;            /* the tail is out: later text is dropped for good */
};

struct origin {
    unsigned references;
    uint64_t number;      /* of the request at the door; 0: never went there */
    enum channel channel; /* the socket to reply on */
    size_t identities;
    struct slice identity[WIRE_IDENTITIES_MAX]; /* routing frames, owned */
    struct slice header;                        /* raw bytes, echoed as parent_header, owned */
    struct slice type;                          /* "execute_request", owned */
    struct output_quota quota[2];               /* stdout, stderr */
    uint8_t bytes[];                            /* what the slices point to */
};

/* Copies what is needed out of a message that came on `channel`. One reference. */
struct origin *origin_new(const struct wire_message *message, enum channel channel);
struct origin *origin_ref(struct origin *self);
void origin_unref(struct origin **self_p);

/* The origins of requests at the door, by number. Zero-initialise. */
struct origins {
    struct origin *kept[ORIGINS_KEPT]; /* number modulo ORIGINS_KEPT; references */
    uint64_t last;                     /* the highest number given out */
    struct origin *speaker;            /* who has the word, or had it last; NULL: nobody yet */
    struct origin *control;            /* of the last message on control; NULL: there was none */
};

/* Gives the origin the next number and keeps it. */
void origins_add(struct origins *self, struct origin *origin);

/* The origin has the word from now on: text of fd 1 and fd 2 is its. Keeps a reference. */
void origins_speak(struct origins *self, struct origin *origin);

/* A message came on control: it is the last one there. Keeps a reference. */
void origins_note_control(struct origins *self, struct origin *origin);

/*
 * The origin with that number; where it is too old, or 0 (text of fd 1 and
 * fd 2), the one that has the word. NULL: there was none yet. Borrowed.
 */
struct origin *origins_find(const struct origins *self, uint64_t number);

/* The request with that msg_id, the newest if there are several; NULL: none is kept. Borrowed. */
struct origin *origins_of(const struct origins *self, struct slice msg_id);
void origins_release(struct origins *self);

#endif
