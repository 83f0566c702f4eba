/*
 * The list of open comms. Runs in the kernel process, on the thread of the
 * zloop. Owns the entries. A list, because sessions have few comms and look
 * through all of them only when one opens, closes, or a client asks.
 */

#include "kernel/comms.h"

#include <stdlib.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"

struct comm_entry {
    struct comm_entry *next;
    struct slice id, target; /* raw JSON strings, in bytes */
    uint8_t bytes[];
};

static struct comm_entry **find(struct comms *self, struct slice id)
{
    struct comm_entry **at = &self->first;

    while (*at && !slice_equal((*at)->id, id)) {
        at = &(*at)->next;
    }
    return at;
}

static void remove_at(struct comms *self, struct comm_entry **at)
{
    struct comm_entry *entry = *at;

    *at = entry->next;
    self->count--;
    free(entry);
}

void comms_release(struct comms *self)
{
    while (self->first) {
        remove_at(self, &self->first);
    }
}

static void add(struct comms *self, struct slice id, struct slice target)
{
    struct comm_entry *entry = xmalloc(sizeof *entry + id.n + target.n);
    uint8_t *at = entry->bytes;

    entry->id = slice_store(&at, id);
    entry->target = slice_store(&at, target);
    entry->next = self->first;
    self->first = entry;
    self->count++;
}

void comms_note(struct comms *self, struct slice type, struct slice content)
{
    struct slice id, target = slice_of("\"\"");
    struct comm_entry **at;

    if (json_object_get_kind(content, "comm_id", JSON_STRING, &id) != 0) {
        return;
    }
    at = find(self, id);
    if (*at && (slice_is(type, "comm_close") || slice_is(type, "comm_open"))) {
        remove_at(self, at);
    }
    if (slice_is(type, "comm_open") && self->count < COMMS_MAX) {
        (void)json_object_get_kind(content, "target_name", JSON_STRING, &target);
        add(self, id, target);
    }
}

bool comms_close_next(struct comms *self, struct buffer *ret_content)
{
    if (!self->first) {
        return false;
    }
    buffer_put_text(ret_content, "{\"comm_id\":");
    buffer_put_slice(ret_content, self->first->id);
    buffer_put_text(ret_content, ",\"data\":{}}");
    remove_at(self, &self->first);
    return true;
}

void comms_put_info(const struct comms *self, struct slice target, struct buffer *ret_member)
{
    const char *comma = "";

    buffer_put_text(ret_member, "\"comms\":{");
    for (const struct comm_entry *entry = self->first; entry; entry = entry->next) {
        if (target.n == 0 || slice_equal(entry->target, target)) {
            buffer_put_text(ret_member, comma);
            buffer_put_slice(ret_member, entry->id);
            buffer_put_text(ret_member, ":{\"target_name\":");
            buffer_put_slice(ret_member, entry->target);
            buffer_put_char(ret_member, '}');
            comma = ",";
        }
    }
    buffer_put_char(ret_member, '}');
}
