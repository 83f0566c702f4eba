/*
 * Text without a cell, in the log: see early_text.h. Runs in the kernel process.
 * Owns nothing.
 */

#include "kernel/early_text.h"

#include <string.h>

#include "kernel/log.h"

static void log_lines(struct slice text)
{
    while (text.n > 0) {
        const uint8_t *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;

        if (n > 0) {
            log_warning("Python wrote before the first cell: %.*s", (int)n, (const char *)text.p);
        }
        n += end ? 1 : 0;
        text.p += n;
        text.n -= n;
    }
}

void early_text_log(size_t *logged, struct slice text)
{
    size_t room = *logged < EARLY_TEXT_MAX ? EARLY_TEXT_MAX - *logged : 0;
    bool fits = text.n <= room;

    if (room == 0) {
        return;
    }
    text.n = fits ? text.n : room;
    *logged += text.n;
    log_lines(text);
    if (!fits) {
        *logged = EARLY_TEXT_MAX;
        log_warning("Python writes on before the first cell: the rest is dropped");
    }
}
