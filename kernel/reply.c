/*
 * Sends replies. Runs in the kernel process, on the thread of the zloop.
 */

#include "kernel/reply.h"

#include "bridge/json_text.h"
#include "kernel/kernel.h"
#include "kernel/message.h"

/* "execute_request" -> "execute_reply". */
static void put_reply_type(struct slice request, struct buffer *ret_type)
{
    static const char suffix[] = "_request";
    size_t n = sizeof suffix - 1;

    if (request.n > n && memcmp(request.p + request.n - n, suffix, n) == 0) {
        request.n -= n;
    }
    buffer_put_slice(ret_type, request);
    buffer_put(ret_type, "_reply", sizeof "_reply"); /* with its NUL */
}

void reply_send(struct kernel *kernel, const struct origin *to, struct slice metadata,
                struct slice content)
{
    struct buffer type = BUFFER_INIT;
    int r;

    put_reply_type(to->type, &type);
    r = message_send(sockets_handle(&kernel->sockets, to->channel), &kernel->session,
                     kernel->signer, to, (const char *)type.p, metadata, content, NULL);
    message_tell_lost(r, (const char *)type.p, &kernel->replies_dropped);
    buffer_release(&type);
}

void reply_put_error(struct buffer *content, const char *ename, const char *evalue,
                     const char *detail)
{
    struct buffer row = BUFFER_INIT;

    buffer_printf(&row, "%s: %s", ename, evalue);
    buffer_put_text(content, "\"ename\":");
    json_put_string(content, slice_of(ename));
    buffer_put_text(content, ",\"evalue\":");
    json_put_string(content, slice_of(evalue));
    buffer_put_text(content, ",\"traceback\":[");
    if (detail) {
        json_put_string(content, slice_of(detail));
        buffer_put_char(content, ',');
    }
    json_put_string(content, buffer_slice(&row));
    buffer_put_char(content, ']');
    buffer_release(&row);
}

void reply_error(struct kernel *kernel, const struct origin *to, const char *ename,
                 const char *evalue)
{
    struct buffer content = BUFFER_INIT;

    buffer_put_text(&content, "{\"status\":\"error\",");
    reply_put_error(&content, ename, evalue, NULL);
    buffer_put_char(&content, '}');
    reply_send(kernel, to, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);
}
