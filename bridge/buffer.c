/*
 * A growing range of bytes.
 *
 * Both processes use it, for everything that is written piece by piece: JSON,
 * stream text, frames. It grows by doubling, so n appended bytes cost O(n), and
 * never shrinks by itself: a buffer that is cleared and filled again allocates
 * nothing. Owns the bytes until buffer_detach.
 */

#include "bridge/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/xalloc.h"

enum { SIZE_FIRST = 64 };

void buffer_release(struct buffer *self)
{
    free(self->p);
    *self = (struct buffer)BUFFER_INIT;
}

void buffer_clear(struct buffer *self)
{
    self->n = 0;
}

void buffer_reserve(struct buffer *self, size_t more)
{
    if (more <= self->size - self->n) {
        return;
    }
    CHECK(more <= SIZE_MAX / 2 - self->n);
    size_t size = self->size < SIZE_FIRST ? SIZE_FIRST : self->size;
    while (size < self->n + more) {
        size *= 2;
    }
    self->p = xrealloc(self->p, size);
    self->size = size;
}

void buffer_put(struct buffer *self, const void *p, size_t n)
{
    if (n == 0) {
        return;
    }
    buffer_reserve(self, n);
    memcpy(self->p + self->n, p, n);
    self->n += n;
}

void buffer_put_slice(struct buffer *self, struct slice bytes)
{
    buffer_put(self, bytes.p, bytes.n);
}

void buffer_put_text(struct buffer *self, const char *text)
{
    buffer_put(self, text, strlen(text));
}

void buffer_put_char(struct buffer *self, char c)
{
    buffer_reserve(self, 1);
    self->p[self->n++] = (uint8_t)c;
}

void buffer_put_number(struct buffer *self, long long number)
{
    char digits[3 * sizeof number];
    size_t n = 0;
    unsigned long long left = (unsigned long long)number;
    if (number < 0) {
        buffer_put_char(self, '-');
        left = 0 - left;
    }
    do {
        digits[sizeof digits - ++n] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    buffer_put(self, digits + sizeof digits - n, n);
}

void buffer_printf(struct buffer *self, const char *format, ...)
{
    /* The first try goes into the room that is there; vsnprintf wants one byte more for its NUL. */
    buffer_reserve(self, SIZE_FIRST);
    for (;;) {
        size_t room = self->size - self->n;
        va_list arguments;
        va_start(arguments, format);
        int n = vsnprintf((char *)self->p + self->n, room, format, arguments);
        va_end(arguments);
        CHECK(n >= 0);
        if ((size_t)n < room) {
            self->n += (size_t)n;
            return;
        }
        buffer_reserve(self, (size_t)n + 1);
    }
}

void buffer_drop_front(struct buffer *self, size_t n)
{
    CHECK(n <= self->n);
    self->n -= n;
    if (n > 0 && self->n > 0) {
        memmove(self->p, self->p + n, self->n);
    }
}

uint8_t *buffer_detach(struct buffer *self, size_t *ret_n)
{
    uint8_t *p = self->p;
    *ret_n = self->n;
    *self = (struct buffer)BUFFER_INIT;
    return p;
}
