/*
 * SHA-256 as FIPS 180-4 writes it, without tricks: what is hashed here is short.
 * Any thread; owns nothing.
 */

#include "bridge/sha256.h"

enum { BLOCK = 64, LENGTH_AT = 56 };

static const uint32_t constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void schedule(const uint8_t *block, uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++) {
        w[i] = word_at(block + 4 * i);
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void take_block(uint32_t hash[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8]; /* a to h */
    schedule(block, w);
    memcpy(v, hash, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t s1 = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + constant[i] + w[i];
        uint32_t s0 = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (size_t i = 0; i < 8; i++) {
        hash[i] += v[i];
    }
}

/* The rest, a one bit, zeros, and the length in bits. */
static void take_end(uint32_t hash[8], struct slice rest, uint64_t bits)
{
    uint8_t block[2 * BLOCK] = {0};
    size_t n = rest.n < LENGTH_AT ? BLOCK : 2 * BLOCK;
    if (rest.n > 0) {
        memcpy(block, rest.p, rest.n);
    }
    block[rest.n] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        block[n - 1 - i] = (uint8_t)(bits >> 8 * i);
    }
    for (size_t at = 0; at < n; at += BLOCK) {
        take_block(hash, block + at);
    }
}

void sha256(struct slice bytes, uint8_t ret_digest[SHA256_BYTES])
{
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    struct slice rest = bytes;
    while (rest.n >= BLOCK) {
        take_block(hash, rest.p);
        rest = (struct slice){rest.p + BLOCK, rest.n - BLOCK};
    }
    take_end(hash, rest, (uint64_t)bytes.n * 8);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        ret_digest[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void sha256_hex(struct slice bytes, char ret_text[2 * SHA256_BYTES + 1])
{
    static const char digit[] = "0123456789abcdef";
    uint8_t digest[SHA256_BYTES];
    sha256(bytes, digest);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        ret_text[2 * i] = digit[digest[i] >> 4];
        ret_text[2 * i + 1] = digit[digest[i] & 15];
    }
    ret_text[(size_t)2 * SHA256_BYTES] = '\0';
}
