#ifndef KERNEL_HOST_SKILLS_H
#define KERNEL_HOST_SKILLS_H

/*
 * What a worker's skill loaders have run, by the events that it sends. Each is signed:
 * `attestation_mac` is the HMAC-SHA256, with the key of the handshake, of the event without
 * it, as JSON with sorted keys, without white space, nothing escaped that need not be.
 *
 * Whoever uses one has its host's lock.
 */

#include "bridge/buffer.h"
#include "bridge/sha256.h"
#include "kernel/host.h"

enum {
    HOST_SKILL_LOADS = 256,           /* events of one cell */
    HOST_SKILL_LOADS_BYTES = 8 << 20, /* and what they take together */
    HOST_SKILL_OPEN = 32,             /* announced at the same time */
    HOST_SKILL_ID = 64,               /* characters of an attestation_id that are kept */
};

struct host_skills {
    uint8_t key[SHA256_BYTES];
    struct buffer loads; /* of this cell: "[event,event"; n 0: none */
    size_t count;
    struct {
        char id[HOST_SKILL_ID + 1];
        char source[2 * SHA256_BYTES + 1];
    } open[HOST_SKILL_OPEN]; /* announced, and nobody has said yet that it ran */
    size_t open_count;
    bool broken; /* host_is_recoverable is false */
};

/* A new worker. `key` in 64 hexadecimal digits. */
void host_skills_begin(struct host_skills *self, const char *key);
void host_skills_release(struct host_skills *self);

/* One event: JSON of any kind. */
void host_skills_take(struct host_skills *self, struct slice event);

/* The cell is over. -> a list as JSON, the caller's; p NULL: no events. */
struct host_text host_skills_end_cell(struct host_skills *self);

#endif
