#ifndef BRIDGE_BUFFER_H
#define BRIDGE_BUFFER_H

/*
 * Bytes that grow at their end. Invariants: n <= size; p is NULL only while
 * size is 0. Linked into both processes.
 */

#include "bridge/slice.h"

struct buffer {
    uint8_t *p;
    size_t n;    /* bytes in use */
    size_t size; /* bytes allocated */
};
#define BUFFER_INIT                                                                                \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void buffer_release(struct buffer *self); /* frees the bytes; empty and usable again */
void buffer_clear(struct buffer *self);   /* forgets the bytes, keeps the room */
void buffer_reserve(struct buffer *self, size_t more);
void buffer_put(struct buffer *self, const void *p, size_t n);
void buffer_put_slice(struct buffer *self, struct slice bytes);
void buffer_put_text(struct buffer *self, const char *text);
void buffer_put_char(struct buffer *self, char c);
void buffer_put_number(struct buffer *self, long long number); /* decimal */
void buffer_printf(struct buffer *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_drop_front(struct buffer *self, size_t n);

/* Gives the bytes away: the caller frees them. The buffer is empty after it. */
uint8_t *buffer_detach(struct buffer *self, size_t *ret_n);

/* What is in it now; valid until the next change. */
static inline struct slice buffer_slice(const struct buffer *self)
{
    return (struct slice){self->p, self->n};
}

#endif
