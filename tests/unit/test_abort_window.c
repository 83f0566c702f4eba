/* Tests of kernel/abort_window.c. */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "bridge/clock.h"
#include "kernel/abort_window.h"

static const struct {
    const char *text;
    int r;
    int64_t us;
    int digits;
} dates[] = {
    {"1970-01-01T00:00:00Z", 0, 0, 0},
    {"1970-01-02T00:00:01.5Z", 0, 86401500000, 1},
    {"2026-11-29T15:30:00.123456Z", 0, 1795966200123456, 6},
    {"2026-11-29T15:30:00.1234567Z", 0, 1795966200123456, 7},
    {"2026-11-29T16:30:00.123+01:00", 0, 1795966200123000, 3},
    {"2026-11-29T10:00:00-05:30", 0, 1795966200000000, 0},
    {"2026-11-29T15:30:00", -EINVAL, 0, 0},
    {"2026-11-29 15:30:00Z", -EINVAL, 0, 0},
    {"2026-11-29T15:30:00Zx", -EINVAL, 0, 0},
    {"2026-11-29T15:30:00+1", -EINVAL, 0, 0},
    {"", -EINVAL, 0, 0},
    {"9999999999999999999999999999999999999999999999", -EINVAL, 0, 0},
};

Test(abort_window, reads_dates_with_a_zone)
{
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        int64_t us = 0;
        int digits = 0;

        cr_assert_eq(abort_window_parse_date(slice_of(dates[i].text), &us, &digits), dates[i].r,
                     "%s", dates[i].text);
        cr_assert_eq(digits, dates[i].digits, "%s", dates[i].text);
        cr_assert_eq(us, dates[i].us, "%s: %lld", dates[i].text, (long long)us);
    }
}

/*
 * A header made `ms` from the moment of the first call, by the clock of that session; `digits`
 * is 3 or 6. So it does not matter how slowly a test goes on.
 */
static struct slice header(char text[160], const char *session, long ms, int digits)
{
    static struct timespec first;
    struct timespec now;
    struct tm utc;
    char date[32];

    if (first.tv_sec == 0) {
        (void)clock_gettime(CLOCK_REALTIME, &first);
    }
    now = first;
    ms += now.tv_nsec / 1000000 + 1000L * 1000;
    now.tv_sec += ms / 1000 - 1000;
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text, 160, "{\"date\": \"%s.%03ld%sZ\", \"session\": \"%s\"}", date, ms % 1000,
                   digits == 6 ? "000" : "", session);
    return slice_of(text);
}

Test(abort_window, covers_what_a_program_made_before_the_reply_by_its_own_clock)
{
    struct abort_window window = {.closes_us = 0};
    int64_t second_ago = clock_us(CLOCK_MONOTONIC) - 1000000;
    char failed[160], text[160];

    cr_assert_not(abort_window_covers(&window, header(text, "a", 0, 6)), "it is closed");
    /* The client's clock is 30 s behind: made at -31 s, arrived a second ago. */
    abort_window_open(&window, header(failed, "a", -31000, 6), second_ago);
    cr_assert(abort_window_covers(&window, slice_of(failed)));
    cr_assert(abort_window_covers(&window, header(text, "a", -30500, 6)));
    cr_assert_not(abort_window_covers(&window, header(text, "a", -25000, 6)), "upon the reply");
    cr_assert_not(abort_window_covers(&window, header(text, "b", -30500, 6)), "another client");
    cr_assert_not(abort_window_covers(&window, slice_of("{}")));
    cr_assert_not(abort_window_covers(&window, slice_of("{\"date\": 5, \"session\": \"a\"}")));
    window.closes_us = clock_us(CLOCK_MONOTONIC) - 1;
    cr_assert_not(abort_window_covers(&window, slice_of(failed)), "it closes by itself");
    abort_window_release(&window);
}

Test(abort_window, covers_what_a_browser_sends_in_one_run)
{
    struct abort_window window = {.closes_us = 0};
    char text[160];

    abort_window_open(&window, header(text, "a", -5000, 3), clock_us(CLOCK_MONOTONIC));
    for (long ms = -5000; ms < -4600; ms += 30) {
        cr_assert(abort_window_covers(&window, header(text, "a", ms, 3)), "%ld", ms);
    }
    cr_assert_not(abort_window_covers(&window, header(text, "a", 0, 3)), "a human's decision");
    abort_window_release(&window);
}

Test(abort_window, does_not_go_by_dates_that_are_none)
{
    struct abort_window window = {.closes_us = 0};
    char text[160];

    abort_window_open(&window, header(text, "a", -3600L * 1000, 6), clock_us(CLOCK_MONOTONIC));
    cr_assert_not(abort_window_covers(&window, slice_of(text)));
    abort_window_open(&window, slice_of("{\"session\": \"a\"}"), clock_us(CLOCK_MONOTONIC));
    cr_assert_not(abort_window_covers(&window, header(text, "a", -100, 6)));
    abort_window_release(&window);
}
