/*
 * kernel/replay.c: the window against a plain model of it.
 */

#include "kernel/sign.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

/* The n-th signature, 64 bytes, alike but for its end. */
static struct slice signature(unsigned n, char text[65])
{
    (void)snprintf(text, 65, "%064x", n);
    return slice_of(text);
}

static bool has(const struct replay *replay, unsigned n)
{
    char text[65];
    return replay_has(replay, signature(n, text));
}

static void store(struct replay *replay, unsigned n)
{
    char text[65];
    replay_store(replay, signature(n, text));
}

Test(replay, nothing_is_there_at_first)
{
    struct replay *replay = replay_new(REPLAY_WINDOW);
    cr_expect(not(has(replay, 0)));
    replay_destroy(&replay);
    cr_expect(eq(ptr, replay, NULL));
    replay_destroy(&replay);
}

/* Sizes around the first allocation and its doublings, and no powers of two. */
Test(replay, window_holds_exactly_the_last_ones)
{
    static const size_t capacities[] = {1, 2, 3, 7, 255, 256, 257, 1000, 1024};
    for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; c++) {
        unsigned capacity = (unsigned)capacities[c];
        struct replay *replay = replay_new(capacity);
        unsigned stored = 3 * capacity + 5;
        for (unsigned n = 0; n < stored; n++) {
            cr_assert(not(has(replay, n)));
            store(replay, n);
            cr_assert(has(replay, n));
            cr_assert(n < capacity || !has(replay, n - capacity), "%u of %u", n, capacity);
            cr_assert(n + 1 < capacity || has(replay, n + 1 - capacity), "%u of %u", n, capacity);
        }
        for (unsigned n = 0; n < stored; n++) {
            cr_assert(eq(int, has(replay, n), n >= stored - capacity), "%u of %u", n, capacity);
        }
        replay_destroy(&replay);
    }
}

Test(replay, full_window_of_the_kernel_forgets_the_oldest_only)
{
    struct replay *replay = replay_new(REPLAY_WINDOW);
    for (unsigned n = 0; n < REPLAY_WINDOW + 1000; n++) {
        store(replay, n);
    }
    for (unsigned n = 0; n < REPLAY_WINDOW + 1000; n++) {
        cr_assert(eq(int, has(replay, n), n >= 1000), "%u", n);
    }
    replay_destroy(&replay);
}

Test(replay, storing_again_changes_nothing)
{
    struct replay *replay = replay_new(3);
    store(replay, 1);
    store(replay, 2);
    for (int i = 0; i < 10; i++) {
        store(replay, 1);
    }
    store(replay, 3);
    cr_expect(has(replay, 1) && has(replay, 2) && has(replay, 3));
    store(replay, 4);
    cr_expect(not(has(replay, 1)), "it is as old as it was");
    cr_expect(has(replay, 2) && has(replay, 3) && has(replay, 4));
    replay_destroy(&replay);
}

Test(replay, signatures_of_any_length_are_told_apart)
{
    static const char *const texts[] = {"a", "aa", "aaa",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct replay *replay = replay_new(16);
    for (size_t i = 0; i < 4; i++) {
        cr_expect(not(replay_has(replay, slice_of(texts[i]))));
        replay_store(replay, slice_of(texts[i]));
        cr_expect(replay_has(replay, slice_of(texts[i])));
    }
    replay_destroy(&replay);
}

Test(replay, empty_signature_is_never_a_replay)
{
    struct replay *replay = replay_new(2);
    store(replay, 1);
    store(replay, 2);
    replay_store(replay, slice_of(""));
    cr_expect(not(replay_has(replay, slice_of(""))));
    cr_expect(has(replay, 1) && has(replay, 2), "it takes no room either");
    replay_destroy(&replay);
}
