#ifndef BRIDGE_UTF8_H
#define BRIDGE_UTF8_H

/*
 * UTF-8: checking, counting, and what arrives in pieces. Linked into both
 * processes.
 */

#include "bridge/buffer.h"
#include "bridge/slice.h"

/*
 * Looks at the sequence that `text` begins with (text.n > 0).
 * -> its length, if it is valid; 0: the text ends inside it, valid so far;
 * negative: bad, and its maximal subpart (Unicode 3.9) takes that many bytes.
 */
int utf8_sequence(struct slice text);

/* Bytes before the first bad or unfinished sequence; text.n: all of it is UTF-8. */
size_t utf8_valid(struct slice text);

/* Code points in a range of valid UTF-8. */
size_t utf8_count(struct slice text);

/* Bytes that the first `characters` code points of valid UTF-8 take (all, if there are fewer). */
size_t utf8_prefix(struct slice text, size_t characters);

/* Bytes before the last `characters` code points of valid UTF-8. */
size_t utf8_suffix(struct slice text, size_t characters);

/* A character whose bytes are split over reads. Zero-initialise. */
struct utf8_decoder {
    uint8_t pending[4];
    size_t n;
};

/* Appends valid UTF-8; bad bytes become U+FFFD, an unfinished end is kept back. */
void utf8_decode(struct utf8_decoder *self, struct slice bytes, struct buffer *buffer);

/* The stream paused for good: what is kept back becomes one U+FFFD. */
void utf8_finish(struct utf8_decoder *self, struct buffer *buffer);

#endif
