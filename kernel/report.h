#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H

/*
 * Why the worker is no more, in words for the user.
 */

#include "bridge/buffer.h"

/*
 * Appends how the worker ended (as supervisor_outcome gives it), with a NUL:
 * "the Python process was killed by SIGSEGV (Segmentation fault)".
 */
void report_outcome(int outcome, struct buffer *ret_text);

/*
 * Appends why Python did not start, and what to do, with a NUL. `written` is
 * what the worker wrote to fd 1 and fd 2 until then.
 */
void report_start(int outcome, struct slice written, const char *python, struct buffer *ret_text);

/* Appends what faulthandler wrote to the side pipe, with a NUL; nothing if it wrote nothing. */
void report_stack(int side_fd, struct buffer *ret_text);

#endif
