/*
 * The values of options. Runs in the kernel process, before anything else.
 * strtoull and strtod alone take signs, blanks, "inf" and hexadecimals, which
 * here are mistakes; so what they may see is checked first. Owns nothing.
 */

#include "kernel/option_values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernel/log.h"

enum { SECONDS_MAX = 366 * 24 * 3600 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at the front of the text. -> 0, -EINVAL. */
static int take_digits(const char **text_p, uint64_t *ret_number)
{
    char *end;
    if (!is_digit((*text_p)[0])) {
        return -EINVAL;
    }
    errno = 0;
    unsigned long long number = strtoull(*text_p, &end, 10);
    if (errno != 0) {
        return -EINVAL;
    }
    *text_p = end;
    *ret_number = number;
    return 0;
}

int option_count(const char *text, size_t *ret_count)
{
    uint64_t number;
    if (take_digits(&text, &number) != 0 || *text != '\0' || number > SIZE_MAX) {
        return -EINVAL;
    }
    *ret_count = (size_t)number;
    return 0;
}

int option_seconds(const char *text, int64_t *ret_ms)
{
    static const char allowed[] = "0123456789.";
    char *end;
    if (text[strspn(text, allowed)] != '\0') {
        return -EINVAL;
    }
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || seconds > SECONDS_MAX) {
        return -EINVAL;
    }
    int64_t ms = (int64_t)(seconds * 1000 + 0.5);
    *ret_ms = ms == 0 && seconds > 0 ? 1 : ms;
    return 0;
}

int option_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "kmgt";
    uint64_t number;
    unsigned shift = 0;
    if (take_digits(&text, &number) != 0) {
        return -EINVAL;
    }
    for (unsigned i = 0; *text != '\0' && units[i] != '\0'; i++) {
        if ((*text | 0x20) == units[i]) {
            shift = 10 * (i + 1);
            text++;
            break;
        }
    }
    bool is_unit_whole =
        *text == '\0' || strcasecmp(text, "b") == 0 || (shift > 0 && strcasecmp(text, "ib") == 0);
    if (!is_unit_whole || number > UINT64_MAX >> shift) {
        return -EINVAL;
    }
    *ret_bytes = number << shift;
    return 0;
}

int option_truth(const char *text, bool *ret_truth)
{
    bool is_true = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (!is_true && strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0) {
        return -EINVAL;
    }
    *ret_truth = is_true;
    return 0;
}

int option_level(const char *text, int *ret_level)
{
    static const char *const names[] = {
        [LEVEL_ERROR] = "error",
        [LEVEL_WARNING] = "warning",
        [LEVEL_INFO] = "info",
        [LEVEL_DEBUG] = "debug",
    };
    for (int level = LEVEL_ERROR; level <= LEVEL_DEBUG; level++) {
        if (strcasecmp(text, names[level]) == 0) {
            *ret_level = level;
            return 0;
        }
    }
    return -EINVAL;
}

int option_kernel_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool is_good = text[0] != '\0' && text[strspn(text, allowed)] == '\0' &&
                   strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
    return is_good ? 0 : -EINVAL;
}
