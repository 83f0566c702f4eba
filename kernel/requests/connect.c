/*
 * connect_request (Messaging spec, "Connect"; deprecated, still asked).
 */

#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_connect(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message)
{
    struct buffer content = BUFFER_INIT;

    (void)message;
    buffer_put_text(&content, "{\"status\":\"ok\"");
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        buffer_printf(&content, ",\"%s_port\":%d", channel_names[channel],
                      kernel->connection.port[channel]);
    }
    buffer_put_char(&content, '}');
    reply_send(kernel, origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
}
