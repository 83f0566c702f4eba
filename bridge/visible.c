/*
 * Counting what counts: see visible.h. Both processes; owns nothing.
 */

#include "bridge/visible.h"

#include "bridge/utf8.h"

/* Text without returns. */
static void count(struct visible *self, struct slice text)
{
    const uint8_t *end = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;
    size_t characters = utf8_count(text);
    self->characters += characters;
    if (end != NULL) {
        self->line = utf8_count((struct slice){end + 1, (size_t)(text.p + text.n - end) - 1});
    } else {
        self->line += characters;
    }
}

static void go_back(struct visible *self)
{
    self->characters -= self->line;
    self->line = 0;
}

size_t visible_take(struct visible *self, struct slice text, size_t bound)
{
    size_t at = 0;
    while (at < text.n) {
        struct slice rest = {text.p + at, text.n - at};
        if (*rest.p == '\r') {
            self->returned = true;
            at++;
            continue;
        }
        if (self->returned && *rest.p != '\n') {
            go_back(self);
        }
        self->returned = false;
        const uint8_t *end = memchr(rest.p, '\r', rest.n);
        size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
        size_t room = bound - self->characters; /* a character is one byte at least */
        size_t fits = n <= room ? n : utf8_prefix((struct slice){rest.p, n}, room);
        count(self, (struct slice){rest.p, fits});
        at += fits;
        if (fits < n) {
            break;
        }
    }
    return at;
}
