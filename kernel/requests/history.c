/*
 * history_request (Messaging spec, "History"). Answered from C, also while a
 * cell runs.
 */

#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_history(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message)
{
    struct buffer content = BUFFER_INIT;
    const char *wrong;

    buffer_put_text(&content, "{\"status\":\"ok\",");
    wrong = history_answer(&kernel->history, message->content, &content);
    buffer_put_char(&content, '}');
    if (wrong) {
        reply_error(kernel, origin, "ProtocolError", wrong);
    } else {
        reply_send(kernel, origin, slice_of("{}"), buffer_slice(&content));
    }
    buffer_release(&content);
}
