/*
 * Words of the kernel's own in a request's stderr. Runs in the kernel process,
 * on the thread of the zloop.
 */

#include "kernel/notice.h"

#include "kernel/kernel.h"

void notice_publish(struct kernel *kernel, const struct origin *origin, struct slice text)
{
    struct buffer lines = BUFFER_INIT;

    output_flush(&kernel->output);
    /* What is there may be a progress bar, without a line's end. */
    buffer_put_text(&lines, origin->quota[1].published > 0 ? "\n" : "");
    buffer_put_slice(&lines, text);
    iopub_stream(&kernel->iopub, origin, 1, buffer_slice(&lines));
    buffer_release(&lines);
}
