/*
 * kernel_info_request (Messaging spec, "Kernel info"). Answered from C alone,
 * while Python boots, runs, hangs or is dead.
 */

#include "bridge/json_text.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"

static const char fixed[] =
    "{\"status\":\"ok\",\"protocol_version\":\"5.5\",\"implementation\":\"einkorn\","
    "\"implementation_version\":\"" EINKORN_VERSION "\",\"debugger\":false,"
    "\"supported_features\":[],"
    "\"help_links\":[{\"text\":\"Python Reference\",\"url\":\"https://docs.python.org/3\"}],"
    "\"language_info\":{\"name\":\"python\",\"mimetype\":\"text/x-python\","
    "\"codemirror_mode\":{\"name\":\"ipython\",\"version\":3},"
    "\"pygments_lexer\":\"ipython3\",\"nbconvert_exporter\":\"python\","
    "\"file_extension\":\".py\",\"version\":";

void request_kernel_info(struct kernel *kernel, struct origin *origin,
                         const struct wire_message *message)
{
    struct buffer content = BUFFER_INIT, banner = BUFFER_INIT;

    (void)message;
    buffer_printf(&banner, "Python %s\nEinkorn " EINKORN_VERSION, kernel->python_version);
    buffer_put_text(&content, fixed);
    json_put_string(&content, slice_of(kernel->python_version));
    buffer_put_text(&content, "},\"banner\":");
    json_put_string(&content, buffer_slice(&banner));
    buffer_put_char(&content, '}');
    reply_send(kernel, origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
    buffer_release(&banner);
}
