#ifndef BRIDGE_VISIBLE_H
#define BRIDGE_VISIBLE_H

/*
 * How much of a stream's text counts for the bound on a cell's output. Linked
 * into both processes, so that the worker, which stops sending, and the kernel,
 * which cuts, count alike.
 *
 * Every character counts, but a line that a carriage return goes back in counts
 * from its beginning again: what stood there is overwritten, and a progress bar
 * may run for hours. A return itself counts nothing, and before a line end it is
 * a part of that line end.
 */

#include "bridge/slice.h"

/* Zero-initialise. */
struct visible {
    size_t characters; /* those that count */
    size_t line;       /* of them: the ones that a return gives back */
    bool returned;     /* a return was the last character; what follows decides what it is */
};

/*
 * Counts as much of `text` (valid UTF-8) as stays within `bound` characters.
 * -> bytes that were counted; fewer than text.n: the next character is too much.
 */
size_t visible_take(struct visible *self, struct slice text, size_t bound);

#endif
