#ifndef TESTS_FUZZ_FUZZ_INPUT_H
#define TESTS_FUZZ_FUZZ_INPUT_H

/* Taking a fuzzer's bytes apart. Where there are no more, what is taken is 0 or empty. */

#include <stdint.h>

#include "bridge/slice.h"

static inline uint8_t take_byte(struct slice *input)
{
    if (input->n == 0) {
        return 0;
    }
    input->n--;
    return *input->p++;
}

/* Its length in two bytes, the low one first, then the text. */
static inline struct slice take_text(struct slice *input)
{
    size_t n = take_byte(input);
    n |= (size_t)take_byte(input) << 8;
    n = n < input->n ? n : input->n;
    struct slice text = {input->p, n};
    input->p += n;
    input->n -= n;
    return text;
}

#endif
