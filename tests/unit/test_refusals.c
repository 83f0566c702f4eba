/* Tests of kernel/refusals.c: which refused messages have a line, and that each is counted. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/log.h"
#include "kernel/refusals.h"

static const int64_t SECOND = 1000000;

static FILE *file;

static void start(void)
{
    file = tmpfile();
    cr_assert(file != NULL);
    log_init(fileno(file), LEVEL_INFO);
}

static void stop(void)
{
    (void)fclose(file);
}

TestSuite(refusals, .init = start, .fini = stop);

/* How many lines there are, and what the last one says. */
static size_t lines(char ret_last[512])
{
    size_t count = 0;

    rewind(file);
    *ret_last = '\0';
    while (fgets(ret_last, 512, file)) {
        count++;
    }
    return count;
}

Test(refusals, a_few_are_told_each)
{
    struct refusals refusals = {.untold = 0};
    char last[512];

    for (int i = 1; i <= REFUSALS_LINES; i++) {
        refusals_tell(&refusals, SECOND, "number %d", i);
    }
    cr_assert_eq(lines(last), REFUSALS_LINES);
    cr_assert_str_eq(last, "einkorn: number 20\n");
    refusals_tell_rest(&refusals);
    cr_assert_eq(lines(last), REFUSALS_LINES, "there is no rest");
}

Test(refusals, of_many_one_a_second_is_told_and_the_others_are_counted)
{
    struct refusals refusals = {.untold = 0};
    char last[512];

    for (int i = 1; i <= 1000; i++) {
        refusals_tell(&refusals, SECOND, "number %d", i);
    }
    cr_assert_eq(lines(last), REFUSALS_LINES);
    for (int i = 1; i <= 1000; i++) {
        refusals_tell(&refusals, 2 * SECOND, "later %d", i);
    }
    cr_assert_eq(lines(last), REFUSALS_LINES + 1);
    cr_assert_str_eq(last, "einkorn: later 1 (and 980 more dropped or ignored before it)\n");
    refusals_tell_rest(&refusals);
    cr_assert_eq(lines(last), REFUSALS_LINES + 2);
    cr_assert_str_eq(last, "einkorn: 999 more messages were dropped or ignored\n");
}

Test(refusals, after_some_time_each_is_told_again)
{
    struct refusals refusals = {.untold = 0};
    char last[512];

    for (int64_t second = 1; second <= 1 + REFUSALS_LINES; second += REFUSALS_LINES) {
        for (int i = 0; i < REFUSALS_LINES; i++) {
            refusals_tell(&refusals, second * SECOND, "one");
        }
    }
    cr_assert_eq(lines(last), (size_t)2 * REFUSALS_LINES);
}
