/* Tests of kernel/history.c, and of json_object_get_int that it reads its numbers with. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "kernel/history.h"

static struct history *session(void)
{
    struct history *history = calloc(1, sizeof *history);

    history_add(history, 1, slice_of("\"import math\""));
    history_add(history, 2, slice_of("\"x = 'ä'\\n\""));
    history_add(history, 3, slice_of("\"x\""));
    history_set_output(history, 3, slice_of("\"'ä'\""));
    history_add(history, 4, slice_of("\"import math\""));
    history_set_output(history, 3, slice_of("\"too late\""));
    return history;
}

static const struct {
    const char *content, *answer;
} answers[] = {
    {"{\"hist_access_type\":\"tail\",\"n\":2}", "[[1,3,\"x\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"tail\",\"n\":0}", "[]"},
    {"{\"hist_access_type\":\"tail\",\"n\":99,\"output\":true}",
     "[[1,1,[\"import math\",null]],[1,2,[\"x = 'ä'\\n\",null]],[1,3,[\"x\",\"'ä'\"]],"
     "[1,4,[\"import math\",null]]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":1,\"stop\":2}",
     "[[0,1,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":1,\"start\":3}",
     "[[1,3,\"x\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":-1,\"stop\":null}",
     "[[0,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":2,\"stop\":-1.0}",
     "[[0,2,\"x = 'ä'\\n\"],[0,3,\"x\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":-1,\"start\":1,\"stop\":9}", "[]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"import*\"}",
     "[[1,1,\"import math\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"import*\",\"unique\":true}",
     "[[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"*m*\",\"n\":1}", "[[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"x = '?'?\"}", "[[1,2,\"x = 'ä'\\n\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"mat\"}", "[]"},
    {"{\"hist_access_type\":\"search\",\"n\":1}", "[[1,4,\"import math\"]]"},
};

Test(history, answers_range_tail_and_search)
{
    struct history *history = session();

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct buffer member = BUFFER_INIT, expected = BUFFER_INIT;

        cr_assert_null(history_answer(history, slice_of(answers[i].content), &member));
        buffer_put_char(&member, '\0');
        buffer_printf(&expected, "\"history\":%s", answers[i].answer);
        buffer_put_char(&expected, '\0');
        cr_expect_str_eq((const char *)member.p, (const char *)expected.p, "%s: %s",
                         answers[i].content, (const char *)member.p);
        buffer_release(&member);
        buffer_release(&expected);
    }
    history_release(history);
    free(history);
}

static const char *const wrong[] = {
    "{}",
    "{\"hist_access_type\":\"tails\"}",
    "{\"hist_access_type\":5}",
    "{\"hist_access_type\":\"tail\",\"n\":\"2\"}",
    "{\"hist_access_type\":\"tail\",\"n\":2.5}",
    "{\"hist_access_type\":\"tail\",\"output\":1}",
    "{\"hist_access_type\":\"search\",\"pattern\":[]}",
    "{\"hist_access_type\":\"range\",\"session\":\"0\"}",
};

Test(history, names_what_is_wrong)
{
    struct history *history = session();

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct buffer member = BUFFER_INIT;

        cr_expect_not_null(history_answer(history, slice_of(wrong[i]), &member), "%s", wrong[i]);
        buffer_release(&member);
    }
    history_release(history);
    free(history);
}

Test(history, keeps_the_last_cells_and_a_bounded_number_of_bytes)
{
    struct history *history = calloc(1, sizeof *history);
    struct buffer large = BUFFER_INIT, member = BUFFER_INIT;

    for (uint32_t line = 1; line <= HISTORY_ENTRIES + 5; line++) {
        history_add(history, line, slice_of("\"x\""));
    }
    cr_assert_eq(history->count, HISTORY_ENTRIES);
    cr_assert_null(history_answer(
        history, slice_of("{\"hist_access_type\":\"range\",\"start\":0,\"stop\":7}"), &member));
    buffer_put_char(&member, '\0');
    cr_assert_str_eq((const char *)member.p, "\"history\":[[0,6,\"x\"]]");
    buffer_put_char(&large, '"');
    while (large.n < HISTORY_BYTES / 2) {
        buffer_put_char(&large, 'x');
    }
    buffer_put_char(&large, '"');
    for (uint32_t line = 20000; line < 20003; line++) {
        history_add(history, line, buffer_slice(&large));
    }
    cr_assert_eq(history->count, 1);
    history_set_output(history, 20002, buffer_slice(&large));
    cr_assert_eq(history->bytes, large.n, "a large result is not kept");
    buffer_release(&large);
    buffer_release(&member);
    history_release(history);
    free(history);
}

static const struct {
    const char *object;
    int r;
    int64_t value;
} numbers[] = {
    {"{\"n\":5}", 0, 5},
    {"{\"n\":-7}", 0, -7},
    {"{\"n\":3.0}", 0, 3},
    {"{\"n\":2e2}", 0, 200},
    {"{\"n\":null}", 0, 42},
    {"{}", 0, 42},
    {"{\"n\":99999999999999999999999}", 0, INT64_MAX},
    {"{\"n\":1.5}", JSON_EKIND, 0},
    {"{\"n\":1e300}", JSON_EKIND, 0},
    {"{\"n\":\"5\"}", JSON_EKIND, 0},
    {"{\"n\":true}", JSON_EKIND, 0},
};

Test(history, whole_numbers_are_read)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t value = 0;

        cr_expect_eq(json_object_get_int(slice_of(numbers[i].object), "n", 42, &value),
                     numbers[i].r, "%s", numbers[i].object);
        cr_expect_eq(value, numbers[i].value, "%s", numbers[i].object);
    }
}
