/*
 * The two reasons to let the worker wait: see door_pause.h. Runs in the kernel
 * process, on the thread of the zloop. Owns nothing.
 */

#include "kernel/door_pause.h"

#include "kernel/door.h"
#include "kernel/kernel.h"

/* The request's code has ended, and what the worker still says is its last words. */
static bool at_its_end(const struct kernel *kernel)
{
    return lane_running(&kernel->lane) != 0 && atomic_load(&kernel->door.memory.page->running) == 0;
}

/*
 * A subscriber does not take what there is. The reply of a cell that is over, or
 * was interrupted, should not wait for that: there is some room for last words.
 */
static bool is_backed_up(const struct kernel *kernel)
{
    size_t limit = IOPUB_BACKLOG_MAX + (at_its_end(kernel) ? 2 * LINK_RING_SIZE : 0);

    return iopub_unsent(&kernel->iopub) > limit;
}

/*
 * stdout and stderr in quick turn make a message of each line, and their order
 * forbids to merge them. Then they wait in the ring for a moment, as long as it has
 * room: not when the worker says no more for now, as a cell at its end or one that
 * asks for input.
 */
static bool is_too_fast(struct kernel *kernel)
{
    uint64_t head = atomic_load(&kernel->door.memory.page->head);
    long long now_ms;

    if (!output_is_fast(&kernel->output)) {
        return false;
    }
    now_ms = kernel_now_ms();
    if (kernel->door_head != head) {
        kernel->door_head = head;
        kernel->head_ms = now_ms;
    }
    return now_ms - kernel->head_ms < DOOR_QUIET_MS &&
           head - kernel->door.tail < LINK_RING_SIZE / 2 && !at_its_end(kernel);
}

bool door_pause_wanted(struct kernel *kernel)
{
    return is_backed_up(kernel) || is_too_fast(kernel);
}
