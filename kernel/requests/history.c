/*
 * history_request (Messaging spec, "History"). Answered without Python, also
 * while a cell runs; by the history's thread where the file has to be asked.
 */

#include <stdio.h>

#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_history(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message)
{
    struct history_query query;
    char text[128];
    const char *wrong = text;

    output_flush(&kernel->output);
    iopub_status(&kernel->iopub, origin, "busy");
    if (message->content_error != 0) {
        (void)snprintf(text, sizeof text, "%s: %s", message->bad_part,
                       wire_error_text(message->content_error));
    } else {
        wrong = history_query_read(message->content, &query);
    }
    if (wrong) {
        reply_error(kernel, origin, "ProtocolError", wrong);
        iopub_status(&kernel->iopub, origin, "idle");
    } else {
        remember_answer(kernel, origin, &query);
    }
}
