#ifndef KERNEL_HOST_LINES_H
#define KERNEL_HOST_LINES_H

/*
 * Lines out of bytes that come as they come, none longer than a limit.
 */

#include <stddef.h>

#include "bridge/buffer.h"

struct host_lines {
    struct buffer bytes;
    size_t taken;   /* bytes at the front whose lines have been handed out */
    size_t scanned; /* bytes without a newline behind them, as far as has been looked */
    size_t limit;   /* longest line */
};

void host_lines_init(struct host_lines *self, size_t limit);
void host_lines_release(struct host_lines *self);

/* Room for more bytes at the end, at least n; say with _added how many came. */
uint8_t *host_lines_room(struct host_lines *self, size_t n);
void host_lines_added(struct host_lines *self, size_t n);

/* Bytes that wait. */
size_t host_lines_waiting(const struct host_lines *self);

/*
 * The next line, without its newline, lent until the next call of any function
 * here but _waiting. -> 1; 0: it is not whole yet; -EMSGSIZE: longer than the limit.
 */
int host_lines_next(struct host_lines *self, struct slice *ret_line);

#endif
