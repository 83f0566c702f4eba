#ifndef KERNEL_STACK_TEXT_H
#define KERNEL_STACK_TEXT_H

#include <stdbool.h>

#include "bridge/slice.h"

/*
 * Is this line of faulthandler's, the last one of a thread's stack, our own?
 * The worker runs as `python -c`; that frame stands below every cell and tells
 * nobody anything. Further up, the same line is an exec() of the user's.
 */
static inline bool stack_text_is_ours(struct slice line)
{
    return slice_is(line, "  File \"<string>\", line 1 in <module>");
}

#endif
