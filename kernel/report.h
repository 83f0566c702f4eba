#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H

/*
 * Why there is no worker, in words for the user.
 */

#include "bridge/buffer.h"
#include "kernel/death.h"

/*
 * Appends why Python did not start, and what to do, with a NUL. `written` is
 * what the worker wrote to fd 1 and fd 2 until then.
 */
void report_start(const struct death *death, struct slice written, const char *python,
                  struct buffer *ret_text);

#endif
