/*
 * bridge/buffer.c: what goes in comes out, whatever the room was.
 */

#include "bridge/buffer.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#define IS(buffer, text) slice_is(buffer_slice(buffer), text)

/* The invariants that the header promises. */
static void check_sane(const struct buffer *self)
{
    cr_assert(le(sz, self->n, self->size));
    cr_assert(self->p != NULL || self->size == 0);
}

Test(buffer, empty_buffer_has_an_empty_slice_and_takes_nothing)
{
    struct buffer buffer = BUFFER_INIT;
    cr_assert(eq(sz, buffer_slice(&buffer).n, 0));
    buffer_put(&buffer, NULL, 0);
    buffer_put_slice(&buffer, (struct slice){NULL, 0});
    buffer_drop_front(&buffer, 0);
    check_sane(&buffer);
    cr_assert(eq(ptr, buffer.p, NULL), "nothing to keep, nothing allocated");
    buffer_release(&buffer);
    buffer_release(&buffer);
}

Test(buffer, appends_of_every_kind_follow_each_other)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_put(&buffer, "ab", 2);
    buffer_put_slice(&buffer, slice_of("cd"));
    buffer_put_text(&buffer, "ef");
    buffer_put_char(&buffer, 'g');
    buffer_printf(&buffer, "%d-%s", 42, "x");
    cr_assert(IS(&buffer, "abcdefg42-x"));
    check_sane(&buffer);
    buffer_release(&buffer);
}

Test(buffer, grows_over_many_appends_without_losing_a_byte)
{
    struct buffer buffer = BUFFER_INIT;
    for (int i = 0; i < 100000; i++) {
        buffer_put_char(&buffer, (char)(i % 251));
        check_sane(&buffer);
    }
    cr_assert(eq(sz, buffer.n, 100000));
    for (int i = 0; i < 100000; i++) {
        cr_assert(eq(int, buffer.p[i], i % 251), "byte %d", i);
    }
    buffer_release(&buffer);
}

/* Each length around the room that is there: the text must never be cut for vsnprintf's NUL. */
Test(buffer, printf_writes_texts_of_every_length_whole)
{
    for (int n = 0; n < 300; n++) {
        struct buffer buffer = BUFFER_INIT;
        buffer_put_text(&buffer, "<");
        buffer_printf(&buffer, "%*s|", n, "");
        cr_assert(eq(sz, buffer.n, (size_t)n + 2));
        cr_assert(eq(chr, (char)buffer.p[n + 1], '|'));
        check_sane(&buffer);
        buffer_release(&buffer);
    }
}

Test(buffer, reserve_makes_room_once)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_reserve(&buffer, 1000);
    const uint8_t *p = buffer.p;
    for (int i = 0; i < 1000; i++) {
        buffer_put_char(&buffer, 'x');
    }
    cr_assert(eq(ptr, (void *)(uintptr_t)p, buffer.p));
    buffer_release(&buffer);
}

Test(buffer, clear_keeps_the_room)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_put_text(&buffer, "something");
    size_t size = buffer.size;
    buffer_clear(&buffer);
    cr_assert(eq(sz, buffer.n, 0));
    cr_assert(eq(sz, buffer.size, size));
    buffer_put_text(&buffer, "new");
    cr_assert(IS(&buffer, "new"));
    buffer_release(&buffer);
}

Test(buffer, drop_front_moves_the_rest_up)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_put_text(&buffer, "0123456789");
    buffer_drop_front(&buffer, 3);
    cr_assert(IS(&buffer, "3456789"));
    buffer_drop_front(&buffer, 7);
    cr_assert(IS(&buffer, ""));
    check_sane(&buffer);
    buffer_release(&buffer);
}

Test(buffer, detach_gives_the_bytes_away_and_starts_anew)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_put_text(&buffer, "mine");
    size_t n;
    uint8_t *p = buffer_detach(&buffer, &n);
    cr_assert(eq(sz, n, 4));
    cr_assert(eq(int, memcmp(p, "mine", 4), 0));
    cr_assert(eq(ptr, buffer.p, NULL));
    buffer_put_text(&buffer, "other");
    cr_assert(IS(&buffer, "other"));
    free(p);
    buffer_release(&buffer);
}
