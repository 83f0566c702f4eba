#ifndef BRIDGE_SLICE_H
#define BRIDGE_SLICE_H

/*
 * A range of bytes that somebody else owns. No NUL at the end is promised:
 * nothing that came over a socket, the door or a pipe is a C string.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *p;
    size_t n;
};

/* The bytes of a C string, without its NUL. Borrowed. */
static inline struct slice slice_of(const char *text)
{
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
    return slice_equal(a, slice_of(text));
}

/* Copies bytes to *at and moves it behind them: for several slices in one allocation. */
static inline struct slice slice_store(uint8_t **at, struct slice bytes)
{
    struct slice stored = {*at, bytes.n};

    if (bytes.n > 0) {
        memcpy(*at, bytes.p, bytes.n);
    }
    *at += bytes.n;
    return stored;
}

#endif
