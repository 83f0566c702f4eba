#ifndef KERNEL_EARLY_TEXT_H
#define KERNEL_EARLY_TEXT_H

/*
 * What Python writes when no request has been run yet: there is no cell that
 * it could be shown in, so it goes to the log. That is text of threads which
 * sitecustomize started, or of PYTHONVERBOSE.
 */

#include <stddef.h>

#include "bridge/slice.h"

enum { EARLY_TEXT_MAX = 64 << 10 }; /* bytes that are logged; the rest is dropped */

/* A log line for each line of the text. `logged` counts the bytes; it starts at 0. */
void early_text_log(size_t *logged, struct slice text);

#endif
