/*
 * interrupt_request (Messaging spec, "Kernel interrupt"). The reply says that
 * the signal was sent, or that nothing runs; it does not wait for Python.
 */

#include "kernel/interrupt.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"

void request_interrupt(struct kernel *kernel, struct origin *origin,
                       const struct wire_message *message)
{
    (void)message;
    interrupt_running(kernel);
    reply_send(kernel, origin, slice_of("{}"), slice_of("{\"status\":\"ok\"}"));
}
