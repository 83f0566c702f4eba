/* kernel/pace.c: the level rises with what is put in and falls with time. */

#include "kernel/pace.h"

#include <criterion/criterion.h>

enum { SEC = 1000000 };

Test(pace, what_is_put_in_runs_out)
{
    struct pace pace = {.per_sec = 100};

    cr_assert_eq(pace_level(&pace, 5 * (int64_t)SEC), 0);
    pace_add(&pace, 5 * (int64_t)SEC, 250);
    cr_assert_eq(pace_level(&pace, 5 * (int64_t)SEC), 250);
    cr_assert_eq(pace_level(&pace, 5 * (int64_t)SEC + SEC / 2), 200);
    pace_add(&pace, 6 * (int64_t)SEC, 100);
    cr_assert_eq(pace_level(&pace, 6 * (int64_t)SEC), 250);
    cr_assert_eq(pace_level(&pace, 8 * (int64_t)SEC), 50);
    cr_assert_eq(pace_level(&pace, 9 * (int64_t)SEC), 0);
}

Test(pace, times_that_are_far_apart_or_go_back_do_no_harm)
{
    struct pace pace = {.per_sec = 1000000};

    pace_add(&pace, SEC, 10);
    cr_assert_eq(pace_level(&pace, 0), 10);
    cr_assert_eq(pace_level(&pace, INT64_MAX), 0);
}

Test(pace, the_limit_of_a_window_holds_however_it_is_used)
{
    /* 300 at once and 900 a second: never more than 3,000 in three seconds. */
    struct pace pace = {.per_sec = 900};
    size_t sent[300] = {0}, window = 0, most = 0; /* in each tick of 10 ms */

    for (size_t tick = 0; tick < 4000; tick++) {
        int64_t now_us = (int64_t)tick * 10000;
        size_t wanted = tick % 700 < 300 ? 100 : tick % 7; /* floods, and some in between */

        window -= sent[tick % 300];
        sent[tick % 300] = 0;
        while (wanted-- > 0 && pace_level(&pace, now_us) <= 300) {
            pace_add(&pace, now_us, 1);
            sent[tick % 300]++;
            window++;
        }
        most = window > most ? window : most;
    }
    cr_assert_gt(most, 2500);
    cr_assert_leq(most, 3001, "%zu", most);
}
