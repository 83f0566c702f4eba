/*
 * The worker's settings: see worker_settings.h. Runs in the kernel process, before
 * ZeroMQ is there; owns nothing.
 */

#include "kernel/worker_settings.h"

#include <string.h>

#include "bridge/buffer.h"

static void put(struct buffer *text, const char *name, const char *value)
{
    if (value && !strchr(value, '\n')) {
        buffer_put_text(text, name);
        buffer_put_char(text, '=');
        buffer_put_text(text, value);
        buffer_put_char(text, '\n');
    }
}

char *worker_settings(const struct options *options)
{
    struct buffer text = BUFFER_INIT;
    size_t i;

    put(&text, "shell", options->shell);
    put(&text, "ipykernel", options->no_ipykernel_shim ? "no" : "yes");
    put(&text, "connection_file", options->connection_file);
    for (i = 0; i < options->ignored_count && i < OPTIONS_IGNORED_MAX; i++) {
        put(&text, "trait", options->ignored[i]);
    }
    buffer_put_char(&text, '\0');
    return (char *)text.p;
}
