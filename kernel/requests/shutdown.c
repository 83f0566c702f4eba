/*
 * shutdown_request (Messaging spec, "Kernel shutdown"): the reply at once, its
 * copy for all clients, then the end.
 */

#include "bridge/json_text.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"
#include "kernel/stop.h"

void request_shutdown(struct kernel *kernel, struct origin *origin,
                      const struct wire_message *message)
{
    bool restart;

    if (json_object_get_bool(message->content, "restart", false, &restart) < 0) {
        reply_error(kernel, origin, "ProtocolError", "shutdown_request: 'restart' is no boolean");
        return;
    }
    reply_send(kernel, origin, slice_of("{}"), slice_of(stop_reply(restart)));
    iopub_publish(&kernel->iopub, "shutdown_reply", origin, slice_of("{}"),
                  slice_of(stop_reply(restart)));
    stop_begin(kernel, 0);
}
