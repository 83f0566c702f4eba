/*
 * Answers what the worker asks about requests. Runs in the kernel process, on the
 * thread of the zloop.
 */

#include "kernel/lookup.h"

#include <inttypes.h>

#include "kernel/door.h"
#include "kernel/kernel.h"

static void put_hex(struct buffer *text, struct slice bytes)
{
    buffer_put_char(text, '"');
    for (size_t i = 0; i < bytes.n; i++) {
        buffer_printf(text, "%02x", bytes.p[i]);
    }
    buffer_put_char(text, '"');
}

static void put_origin(struct buffer *text, const struct origin *origin)
{
    buffer_printf(text, "{\"number\":%" PRIu64 ",\"identities\":[", origin->number);
    for (size_t i = 0; i < origin->identities; i++) {
        buffer_put_text(text, i > 0 ? "," : "");
        put_hex(text, origin->identity[i]);
    }
    buffer_put_text(text, "],\"header\":");
    buffer_put_slice(text, origin->header);
    buffer_put_char(text, '}');
}

void lookup_answer(struct kernel *kernel, uint64_t serial, struct slice kind, struct slice msg_id)
{
    const struct origin *origin =
        slice_is(kind, "control") ? kernel->origins.control : origins_of(&kernel->origins, msg_id);
    struct buffer text = BUFFER_INIT;

    if (origin) {
        put_origin(&text, origin);
    } else {
        buffer_put_text(&text, "{}");
    }
    door_send(kernel, LINK_ANSWER, 0, serial, (struct slice[]){slice_of("ok"), buffer_slice(&text)},
              2);
    buffer_release(&text);
}
