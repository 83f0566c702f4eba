#ifndef BRIDGE_JSON_SCAN_H
#define BRIDGE_JSON_SCAN_H

/*
 * What json_text.c and json_text_check.c share. Not for others.
 */

#include "bridge/slice.h"

/*
 * End of the run at p that needs no look in a string: valid UTF-8 without
 * quotes, backslashes and control characters. -> `end`, or where it stops.
 */
const uint8_t *json_run(const uint8_t *p, const uint8_t *end);

/* Behind the white space at p. */
static inline const uint8_t *json_skip_space(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
    }
    return p;
}

/* Value of a hexadecimal digit; -1: it is none. */
static inline int json_hex(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
