#ifndef TESTS_UNIT_TEST_LINK_DOOR_H
#define TESTS_UNIT_TEST_LINK_DOOR_H

/*
 * A whole door in one process, for the tests of bridge/link*.c: the kernel's
 * end, the worker's fds, and a producer for those who want it here.
 */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bridge/link.h"

struct door {
    struct link_consumer consumer;
    struct link_producer producer;
    struct link_fds fds;
    int stdio[2];
};

/* Only the kernel's end, and the fds for a child that makes its own producer. */
static inline void door_open_half(struct door *self)
{
    cr_assert(eq(int, link_consumer_init(&self->consumer, &self->fds, self->stdio), 0));
}

static inline void door_open(struct door *self)
{
    door_open_half(self);
    cr_assert(eq(int, link_producer_init(&self->producer, &self->fds), 0));
}

static inline void door_close(struct door *self)
{
    link_producer_release(&self->producer);
    close(self->stdio[0]);
    close(self->stdio[1]);
    link_consumer_release(&self->consumer);
}

/* The next item, in new rounds until there is one or nothing new came. */
static inline int door_next(struct door *self, struct link_item *ret_item)
{
    int r = link_consumer_next(&self->consumer, ret_item);
    while (r == 0 && !link_consumer_rest(&self->consumer, LINK_ASLEEP)) {
        link_consumer_begin(&self->consumer);
        r = link_consumer_next(&self->consumer, ret_item);
    }
    return r;
}

/* Like door_next, but sleeps until there is one. */
static inline int door_wait(struct door *self, struct link_item *ret_item)
{
    for (;;) {
        int r = door_next(self, ret_item);
        if (r != 0) {
            return r;
        }
        struct pollfd fds[3] = {
            {.fd = self->consumer.bell, .events = POLLIN},
            {.fd = self->consumer.text[0].ended ? -1 : self->consumer.pipe[0], .events = POLLIN},
            {.fd = self->consumer.text[1].ended ? -1 : self->consumer.pipe[1], .events = POLLIN}};
        cr_assert_gt(poll(fds, 3, 20000), 0, "nothing came for 20 s");
        link_consumer_hush(&self->consumer);
        link_consumer_begin(&self->consumer);
    }
}

static inline bool door_bell_rang(struct door *self)
{
    struct pollfd fd = {.fd = self->consumer.bell, .events = POLLIN};
    bool rang = poll(&fd, 1, 0) == 1;
    link_consumer_hush(&self->consumer);
    return rang;
}

/* Reads a decimal number at the start of a payload, 0 if there is none. */
static inline uint64_t number_of(struct slice payload)
{
    uint64_t number = 0;
    for (size_t i = 0; i < payload.n && payload.p[i] >= '0' && payload.p[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(payload.p[i] - '0');
    }
    return number;
}

/* Reproducible randomness: xorshift64*. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static inline void fill_pattern(uint8_t *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)(seed + i * 7 + (i >> 8));
    }
}

static inline bool has_pattern(struct slice bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != (uint8_t)(seed + i * 7 + (i >> 8))) {
            return false;
        }
    }
    return true;
}

#endif
