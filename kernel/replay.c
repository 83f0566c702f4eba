/*
 * The window of signatures that were seen.
 *
 * Runs in the kernel process, on the thread of its owner. A signature is kept as 16
 * bytes of SipHash under a random key: any length fits, nobody can steer where
 * it lands, and two of them meet with a chance of 2^-128. The hashes stand in a
 * ring, in the order they came; a table of positions with linear probing finds
 * them. Both grow by doubling up to the capacity, so an idle kernel holds
 * little, and a flood never more than the window. Owns ring and table.
 */

#include "kernel/sign.h"

#include <sodium.h>

#include "bridge/check.h"
#include "bridge/xalloc.h"

enum { SIZE_FIRST = 256 };

struct fingerprint {
    uint8_t bytes[crypto_shorthash_siphashx24_BYTES];
};

struct replay {
    uint8_t key[crypto_shorthash_siphashx24_KEYBYTES];
    size_t capacity; /* signatures to keep at most */
    size_t size;     /* slots of the ring now */
    size_t count;    /* of them in use; once it is the capacity, it stays */
    size_t next;     /* the ring's slot to write next: when it is full, the oldest */
    struct fingerprint *ring;
    size_t mask;     /* slots of the table - 1; at least twice the ring's, so never full */
    uint32_t *table; /* 0: empty, else a ring's slot + 1 */
};

static struct fingerprint fingerprint_of(const struct replay *self, struct slice signature)
{
    struct fingerprint result;
    crypto_shorthash_siphashx24(result.bytes, signature.p, signature.n, self->key);
    return result;
}

/* The table's slot where a search for this fingerprint begins. */
static size_t home_of(const struct replay *self, const struct fingerprint *fingerprint)
{
    uint64_t number;
    memcpy(&number, fingerprint->bytes, sizeof number);
    return (size_t)number & self->mask;
}

/* The table's slot that leads to it, or the empty one where it would go. */
static size_t find(const struct replay *self, const struct fingerprint *fingerprint)
{
    size_t at = home_of(self, fingerprint);
    while (self->table[at] != 0 &&
           memcmp(&self->ring[self->table[at] - 1], fingerprint, sizeof *fingerprint) != 0) {
        at = (at + 1) & self->mask;
    }
    return at;
}

/* Empties a slot of the table, and moves up what was pushed behind it. */
static void remove_at(struct replay *self, size_t hole)
{
    size_t at = hole;
    for (;;) {
        at = (at + 1) & self->mask;
        if (self->table[at] == 0) {
            break;
        }
        size_t home = home_of(self, &self->ring[self->table[at] - 1]);
        /* It may fill the hole unless its home lies behind the hole, on the way to where it is. */
        if (((at - home) & self->mask) >= ((at - hole) & self->mask)) {
            self->table[hole] = self->table[at];
            hole = at;
        }
    }
    self->table[hole] = 0;
}

/* Makes room for `size` signatures. The ring was never full before, so it has not wrapped. */
static void resize(struct replay *self, size_t size)
{
    size_t slots = 2;
    while (slots < size * 2) {
        slots *= 2;
    }
    free(self->table);
    self->table = xcalloc(slots, sizeof *self->table);
    self->mask = slots - 1;
    self->ring = xrealloc(self->ring, size * sizeof *self->ring);
    self->size = size;
    for (size_t i = 0; i < self->count; i++) {
        self->table[find(self, &self->ring[i])] = (uint32_t)(i + 1);
    }
}

struct replay *replay_new(size_t capacity)
{
    CHECK(capacity > 0 && capacity <= REPLAY_WINDOW);
    CHECK(sodium_init() >= 0);
    struct replay *self = xcalloc(1, sizeof *self);
    self->capacity = capacity;
    randombytes_buf(self->key, sizeof self->key);
    resize(self, capacity < SIZE_FIRST ? capacity : SIZE_FIRST);
    return self;
}

void replay_destroy(struct replay **self_p)
{
    struct replay *self = *self_p;
    if (self == NULL) {
        return;
    }
    free(self->table);
    free(self->ring);
    free(self);
    *self_p = NULL;
}

bool replay_has(const struct replay *self, struct slice signature)
{
    if (signature.n == 0) {
        return false;
    }
    struct fingerprint fingerprint = fingerprint_of(self, signature);
    return self->table[find(self, &fingerprint)] != 0;
}

void replay_store(struct replay *self, struct slice signature)
{
    if (signature.n == 0 || replay_has(self, signature)) {
        return;
    }
    if (self->count == self->capacity) {
        remove_at(self, find(self, &self->ring[self->next]));
    } else {
        if (self->count == self->size) {
            size_t twice = self->size * 2;
            resize(self, twice < self->capacity ? twice : self->capacity);
        }
        self->count++;
    }
    struct fingerprint fingerprint = fingerprint_of(self, signature);
    size_t slot = find(self, &fingerprint);
    self->ring[self->next] = fingerprint;
    self->table[slot] = (uint32_t)(self->next + 1);
    self->next = (self->next + 1) % self->capacity;
}
