/*
 * shutdown_request (Messaging spec, "Kernel shutdown"). Runs in the kernel
 * process, on the thread of the zloop. Owns the requests that wait.
 *
 * The end begins at once; the reply waits for the end of the cell that runs, so
 * that it can say what became of it. Stop gives the cell STOP_CELL_MS at most,
 * and what comes after it (atexit handlers, children) is not waited for.
 */

#include <stdio.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"
#include "kernel/stop.h"

struct shutdown_wait {
    struct shutdown_wait *next;
    struct origin *origin;
    bool restart;
};

static const char *const fates[] = {
    [STOP_CELL_NONE] = "{\"einkorn\":{\"cell\":\"none\"}}",
    [STOP_CELL_ENDED] = "{\"einkorn\":{\"cell\":\"ended\"}}",
    [STOP_CELL_KILLED] = "{\"einkorn\":{\"cell\":\"killed\"}}",
};

/* Reply, its copy for all clients, idle. */
static void answer(struct kernel *kernel, struct origin *origin, bool restart)
{
    struct slice metadata = slice_of(fates[kernel->stop_cell]);
    struct slice content = slice_of(stop_reply(restart));

    reply_send(kernel, origin, metadata, content);
    iopub_publish(&kernel->iopub, "shutdown_reply", origin, metadata, content);
    iopub_status(&kernel->iopub, origin, "idle");
}

void shutdown_answer(struct kernel *kernel)
{
    while (kernel->shutdowns) {
        struct shutdown_wait *first = kernel->shutdowns;

        kernel->shutdowns = first->next;
        answer(kernel, first->origin, first->restart);
        origin_unref(&first->origin);
        free(first);
    }
}

void request_shutdown(struct kernel *kernel, struct origin *origin,
                      const struct wire_message *message)
{
    struct shutdown_wait **last = &kernel->shutdowns, *wait;
    bool restart = false;
    char wrong[128] = "";

    output_flush(&kernel->output);
    iopub_status(&kernel->iopub, origin, "busy");
    if (message->content_error != 0) {
        (void)snprintf(wrong, sizeof wrong, "%s: %s", message->bad_part,
                       wire_error_text(message->content_error));
    } else if (json_object_get_bool(message->content, "restart", false, &restart) < 0) {
        (void)snprintf(wrong, sizeof wrong, "shutdown_request: 'restart' is no boolean");
    }
    if (*wrong) {
        reply_error(kernel, origin, "ProtocolError", wrong);
        iopub_status(&kernel->iopub, origin, "idle");
        return;
    }
    wait = xcalloc(1, sizeof *wait);
    wait->origin = origin_ref(origin);
    wait->restart = restart;
    while (*last) {
        last = &(*last)->next;
    }
    *last = wait;
    stop_begin(kernel, 0);
}
