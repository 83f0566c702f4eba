#ifndef KERNEL_STUCK_TEXT_H
#define KERNEL_STUCK_TEXT_H

/*
 * The words for a Python that does not react to an interrupt.
 */

#include "bridge/buffer.h"
#include "kernel/process_facts.h"

enum { STUCK_STACKS_SHOWN = 16 << 10 }; /* bytes of stacks in a notice */

/*
 * Appends the notice. `waited_ms`: since the interrupt; `facts`: of the worker,
 * now; `cpu_ms`: CPU time it used since then, -1: unknown; `stacks`: what
 * faulthandler wrote, empty if it wrote nothing.
 */
void stuck_text(long long waited_ms, const struct process_facts *facts, int64_t cpu_ms,
                struct slice stacks, struct buffer *ret_text);

#endif
