/*
 * Requests of the Messaging spec that this kernel does not serve. A client
 * waits for a reply to each, so it gets one that says what is missing.
 */

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
