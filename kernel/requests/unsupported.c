/*
 * Requests of the Messaging spec that this kernel does not serve. A client
 * waits for a reply to each, so it gets one that says what is missing.
 */

#include "bridge/json_text.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_unsupported(struct kernel *kernel, struct origin *origin,
                         const struct wire_message *message)
{
    struct buffer text = BUFFER_INIT;

    (void)message;
    buffer_put_slice(&text, origin->type);
    buffer_put_text(&text, " is not supported by this kernel");
    buffer_put_char(&text, '\0');
    reply_error(kernel, origin, "NotImplementedError", (const char *)text.p);
    buffer_release(&text);
}

void request_comm(struct kernel *kernel, struct origin *origin, const struct wire_message *message)
{
    struct buffer content = BUFFER_INIT;
    struct slice id;

    if (slice_is(origin->type, "comm_open") && message->content_error == 0 &&
        json_object_get_kind(message->content, "comm_id", JSON_STRING, &id) == 0) {
        buffer_put_text(&content, "{\"comm_id\":");
        buffer_put_slice(&content, id);
        buffer_put_text(&content, ",\"data\":{}}");
        iopub_publish(&kernel->iopub, "comm_close", origin, slice_of("{}"), buffer_slice(&content));
        buffer_release(&content);
    }
}
