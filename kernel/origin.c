/*
 * Origins of messages: the request's identities and raw header, kept as long
 * as somebody speaks in its name. Runs in the kernel process.
 *
 * One allocation an origin: a session has thousands of them, and all they hold
 * is a few hundred bytes. The table is a ring by number, not a map: numbers
 * count up, and only the oldest ever leave.
 */

#include "kernel/origin.h"

#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "bridge/xalloc.h"

struct origin *origin_new(const struct wire_message *message, enum channel channel)
{
    struct buffer type = BUFFER_INIT;
    struct origin *self;
    size_t size, i;
    uint8_t *at;

    json_string_decode(message->msg_type, &type);
    size = message->header.n + type.n;
    for (i = 0; i < message->identities; i++) {
        size += wire_frame(message, i).n;
    }

    self = xcalloc(1, sizeof *self + size);
    self->references = 1;
    self->channel = channel;
    at = self->bytes;
    self->header = slice_store(&at, message->header);
    self->type = slice_store(&at, buffer_slice(&type));
    self->identities = message->identities;
    for (i = 0; i < message->identities; i++) {
        self->identity[i] = slice_store(&at, wire_frame(message, i));
    }
    buffer_release(&type);
    return self;
}

struct origin *origin_ref(struct origin *self)
{
    self->references++;
    return self;
}

void origin_unref(struct origin **self_p)
{
    struct origin *self = *self_p;

    *self_p = NULL;
    if (!self || --self->references > 0) {
        return;
    }
    buffer_release(&self->quota[0].tail);
    buffer_release(&self->quota[1].tail);
    free(self);
}

void origins_add(struct origins *self, struct origin *origin)
{
    struct origin **place;

    CHECK(origin->number == 0);
    origin->number = ++self->last;
    place = &self->kept[origin->number % ORIGINS_KEPT];
    origin_unref(place);
    *place = origin_ref(origin);
}

static void keep(struct origin **place, struct origin *origin)
{
    struct origin *before = *place;

    *place = origin_ref(origin);
    origin_unref(&before);
}

void origins_speak(struct origins *self, struct origin *origin)
{
    keep(&self->speaker, origin);
}

void origins_note_control(struct origins *self, struct origin *origin)
{
    keep(&self->control, origin);
}

struct origin *origins_find(const struct origins *self, uint64_t number)
{
    struct origin *found = self->kept[number % ORIGINS_KEPT];

    if (number != 0 && found && found->number == number) {
        return found;
    }
    return self->speaker;
}

struct origin *origins_of(const struct origins *self, struct slice msg_id)
{
    struct buffer id = BUFFER_INIT;
    struct origin *found = NULL;

    for (uint64_t i = 0; i < ORIGINS_KEPT && i < self->last && !found; i++) {
        struct origin *origin = self->kept[(self->last - i) % ORIGINS_KEPT];
        struct slice raw;

        if (origin && json_object_get_kind(origin->header, "msg_id", JSON_STRING, &raw) == 0) {
            buffer_clear(&id);
            json_string_decode(raw, &id);
            found = slice_equal(buffer_slice(&id), msg_id) ? origin : NULL;
        }
    }
    buffer_release(&id);
    return found;
}

void origins_release(struct origins *self)
{
    origin_unref(&self->speaker);
    origin_unref(&self->control);
    for (size_t i = 0; i < ORIGINS_KEPT; i++) {
        origin_unref(&self->kept[i]);
    }
}
