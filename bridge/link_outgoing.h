#ifndef BRIDGE_LINK_OUTGOING_H
#define BRIDGE_LINK_OUTGOING_H

/*
 * A payload on its way out of the worker, and the two looks aside that a
 * record may need: at the pipes, and for a memfd. Internal to the producer.
 */

#include "bridge/link.h"

/* The bytes of a payload: `head`, then the parts. Read once, front to back. */
struct link_outgoing {
    uint32_t kind; /* with LINK_STDERR */
    uint64_t request;
    uint64_t size; /* bytes in all */
    struct slice head;
    const struct slice *part;
    size_t count;
    size_t index;  /* where the next byte is: 0 is head, then the parts */
    size_t offset; /* in that one */
};

/* Copies the next n bytes, which must be there. */
void link_outgoing_copy(struct link_outgoing *self, uint8_t *to, size_t n);

/*
 * Puts all bytes into a sealed memfd, without moving on.
 * -> the fd, -errno: there is none to be had.
 */
int link_outgoing_memfd(const struct link_outgoing *self);

/*
 * An fd, CLOEXEC and the caller's, for link_pipes_look: tells of both read ends
 * at once whether bytes wait. -> the fd, -errno.
 */
int link_pipes_watch(const int pipe[2]);

/*
 * How many bytes were ever written to each pipe, as one consistent pair of
 * what the kernel took and what still waits.
 */
void link_pipes_look(struct link_page *page, int watch, const int pipe[2],
                     uint64_t ret_position[2]);

#endif
