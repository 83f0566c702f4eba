#ifndef KERNEL_CELL_MARKER_H
#define KERNEL_CELL_MARKER_H

/*
 * A file that says which cell this kernel runs, for the case that the kernel
 * dies too, without a word: the next one on the same connection file, which is
 * what servers start after a death, finds it and tells the user.
 *
 * It costs one write to the page cache when a cell begins and one when it ends.
 */

#include <stdint.h>

#include "bridge/buffer.h"
#include "kernel/memory_group.h"

enum { CELL_MARKER_PATH = 4096 };

struct cell_marker {
    int fd; /* -1: there is none, nobody can write there */
    char path[CELL_MARKER_PATH];
    struct memory_group memory; /* when the kernel started */
    uint64_t started;           /* the same, in clock ticks since boot */
    const char *connection;     /* its connection file; borrowed */
};

/* Without a file; all functions take that. */
void cell_marker_init(struct cell_marker *self);

/*
 * Makes the marker for a kernel with that connection file. If an earlier kernel
 * left one because it died while a cell ran: appends what the user should know,
 * with a NUL.
 */
void cell_marker_open(struct cell_marker *self, const char *directory, const char *connection,
                      const struct memory_group *memory, struct buffer *ret_notice);

/* The cell with that count runs; 0: none does. */
void cell_marker_set(struct cell_marker *self, uint32_t count);

/* The kernel ends as it should: removes the file. */
void cell_marker_release(struct cell_marker *self);

#endif
