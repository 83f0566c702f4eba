/*
 * comm_info_request (Messaging spec, "Comm info"). Answered from C, also while
 * a cell runs.
 */

#include "bridge/json_text.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_comm_info(struct kernel *kernel, struct origin *origin,
                       const struct wire_message *message)
{
    struct slice target = {NULL, 0}, value;
    struct buffer content = BUFFER_INIT;

    if (json_object_find(message->content, "target_name", &value) == 0 &&
        json_kind_of(value) != JSON_NULL) {
        if (json_kind_of(value) != JSON_STRING) {
            reply_error(kernel, origin, "ProtocolError",
                        "comm_info_request: 'target_name' is no string");
            return;
        }
        target = value;
    }
    buffer_put_text(&content, "{\"status\":\"ok\",");
    comms_put_info(&kernel->comms, target, &content);
    buffer_put_char(&content, '}');
    reply_send(kernel, origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
}
