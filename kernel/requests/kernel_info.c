/*
 * kernel_info_request (Messaging spec, "Kernel info"). Answered from C alone,
 * while Python boots, runs, hangs or is dead; on control by its thread (control.c).
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

void kernel_info_put(const char *version, struct buffer *ret_content)
{
    struct buffer banner = BUFFER_INIT;

    buffer_printf(&banner, "Python %s\nEinkorn " EINKORN_VERSION, version);
    buffer_put_text(ret_content, fixed);
    json_put_string(ret_content, slice_of(version));
    buffer_put_text(ret_content, "},\"banner\":");
    json_put_string(ret_content, buffer_slice(&banner));
    buffer_put_char(ret_content, '}');
    buffer_release(&banner);
}

void request_kernel_info(struct kernel *kernel, struct origin *origin,
                         const struct wire_message *message)
{
    struct buffer content = BUFFER_INIT;

    (void)message;
    kernel_info_put(kernel->python_version, &content);
    reply_send(kernel, origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
}
