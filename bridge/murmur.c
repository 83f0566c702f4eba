/*
 * MurmurHash2: see murmur.h. By Austin Appleby, who put it into the public domain;
 * little endian words, as the JavaScript of clients computes it. Worker.
 */

#include "bridge/murmur.h"

enum { SHIFT = 24 };
static const uint32_t factor = 0x5bd1e995;

static uint32_t word(const uint8_t *p, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value |= (uint32_t)p[i] << (8 * i);
    }
    return value;
}

uint32_t murmur2(struct slice bytes, uint32_t seed)
{
    uint32_t hash = seed ^ (uint32_t)bytes.n;
    size_t at = 0;
    for (; bytes.n - at >= 4; at += 4) {
        uint32_t k = word(bytes.p + at, 4) * factor;
        hash = (hash * factor) ^ ((k ^ k >> SHIFT) * factor);
    }
    if (at < bytes.n) {
        hash = (hash ^ word(bytes.p + at, bytes.n - at)) * factor;
    }
    hash = (hash ^ hash >> 13) * factor;
    return hash ^ hash >> 15;
}
