/*
 * UTF-8, as Unicode 3.9 defines it (table 3-7, "Well-Formed UTF-8 Byte Sequences").
 *
 * Both processes use it: text of cells comes from pipes in arbitrary pieces,
 * and is bounded in characters, not in bytes. Counting and checking look at
 * eight bytes at a time where these are plain, because most text is ASCII and
 * there can be a lot of it. Owns nothing; a decoder is the caller's.
 */

#include "bridge/utf8.h"

#include "bridge/check.h"

#define ONES ((uint64_t)0x0101010101010101)
#define HIGH (ONES << 7)

static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */

static uint64_t load8(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Length of the sequence that this byte leads; 0: it leads none. */
static int length_of(uint8_t lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

int utf8_sequence(struct slice text)
{
    uint8_t lead = text.p[0];
    int length = length_of(lead);
    if (length == 0) {
        return -1;
    }
    /* The second byte's range keeps out overlong forms, surrogates, and what is above U+10FFFF. */
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i < length; i++) {
        if ((size_t)i == text.n) {
            return 0;
        }
        if (text.p[i] < low || text.p[i] > high) {
            return -i;
        }
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

size_t utf8_valid(struct slice text)
{
    size_t at = 0;
    while (at < text.n) {
        if (text.n - at >= 8 && (load8(text.p + at) & HIGH) == 0) {
            at += 8;
            continue;
        }
        int n = utf8_sequence((struct slice){text.p + at, text.n - at});
        if (n <= 0) {
            break;
        }
        at += (size_t)n;
    }
    return at;
}

/* A code point is counted at the one byte of it that is no continuation (10xxxxxx). */
static bool starts(uint8_t byte)
{
    return (byte & 0xC0) != 0x80;
}

static size_t starts8(const uint8_t *p)
{
    uint64_t word = load8(p);
    uint64_t continuation = (word >> 7) & ~(word >> 6) & ONES;
    return 8 - (size_t)((continuation * ONES) >> 56);
}

size_t utf8_count(struct slice text)
{
    size_t count = 0;
    size_t at = 0;
    for (; text.n - at >= 8; at += 8) {
        count += starts8(text.p + at);
    }
    for (; at < text.n; at++) {
        count += starts(text.p[at]);
    }
    return count;
}

size_t utf8_prefix(struct slice text, size_t characters)
{
    size_t at = 0;
    while (text.n - at >= 8) {
        size_t count = starts8(text.p + at);
        if (count > characters) {
            break;
        }
        characters -= count;
        at += 8;
    }
    /* The prefix ends before the first byte that would start one character too many. */
    for (; at < text.n; at++) {
        if (starts(text.p[at]) && characters-- == 0) {
            break;
        }
    }
    return at;
}

size_t utf8_suffix(struct slice text, size_t characters)
{
    size_t at = text.n;
    while (at > 0 && characters > 0) {
        at--;
        characters -= starts(text.p[at]);
    }
    return at;
}

/* Goes on with the bytes kept back. -> bytes taken from `bytes`; some still kept: all of them. */
static size_t finish_pending(struct utf8_decoder *self, struct slice bytes, struct buffer *buffer)
{
    size_t at = 0;
    while (self->n > 0 && at < bytes.n) {
        CHECK(self->n < sizeof self->pending);
        self->pending[self->n] = bytes.p[at];
        int n = utf8_sequence((struct slice){self->pending, self->n + 1});
        if (n < 0) {
            /* What was kept back is the maximal subpart; the new byte may begin something good. */
            utf8_finish(self, buffer);
            break;
        }
        at++;
        self->n++;
        if (n > 0) {
            buffer_put(buffer, self->pending, self->n);
            self->n = 0;
        }
    }
    return at;
}

void utf8_decode(struct utf8_decoder *self, struct slice bytes, struct buffer *buffer)
{
    size_t at = finish_pending(self, bytes, buffer);
    while (at < bytes.n) {
        struct slice rest = {bytes.p + at, bytes.n - at};
        size_t valid = utf8_valid(rest);
        buffer_put(buffer, rest.p, valid);
        at += valid;
        if (at == bytes.n) {
            break;
        }
        rest = (struct slice){bytes.p + at, bytes.n - at};
        int n = utf8_sequence(rest);
        if (n == 0) {
            memcpy(self->pending, rest.p, rest.n);
            self->n = rest.n;
            break;
        }
        buffer_put(buffer, replacement, sizeof replacement);
        at += (size_t)-n;
    }
}

void utf8_finish(struct utf8_decoder *self, struct buffer *buffer)
{
    if (self->n > 0) {
        buffer_put(buffer, replacement, sizeof replacement);
        self->n = 0;
    }
}
