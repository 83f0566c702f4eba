#ifndef KERNEL_NUMBER_H
#define KERNEL_NUMBER_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Takes a number without a sign off a text, with the blanks before it.
 * -> false: there is none, or a too large one; *at is untouched then.
 */
static inline bool number_take(const char **at, int base, uint64_t *ret_value)
{
    const char *start = *at;
    char *end;

    while (*start == ' ') {
        start++;
    }
    errno = 0;
    unsigned long long value = strtoull(start, &end, base);
    if (!isxdigit((unsigned char)*start) || end == start || errno != 0) {
        return false;
    }
    *ret_value = value;
    *at = end;
    return true;
}

#endif
