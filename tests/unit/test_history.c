/* Tests of kernel/history.c and history_query.c, and of json_object_get_int that they read with. */

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

/* Appends the answer and a NUL. -> what is wrong with the content. */
static const char *ask(const struct history *history, const char *content, int64_t number,
                       struct buffer *ret_member)
{
    struct history_query query;
    const char *wrong = history_query_read(slice_of(content), &query);

    if (!wrong) {
        history_answer(history, &query, number, ret_member);
        buffer_put_char(ret_member, '\0');
        history_query_release(&query);
    }
    return wrong;
}

static const struct {
    const char *content, *answer;
} answers[] = {
    {"{\"hist_access_type\":\"tail\",\"n\":2}", "[[1,3,\"x\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"tail\",\"n\":0}", "[]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":3,\"stop\":0}",
     "[[0,3,\"x\"],[0,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"tail\",\"n\":99,\"output\":true}",
     "[[1,1,[\"import math\",null]],[1,2,[\"x = 'ä'\",null]],[1,3,[\"x\",\"'ä'\"]],"
     "[1,4,[\"import math\",null]]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":1,\"stop\":2}",
     "[[0,1,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":1,\"start\":3}",
     "[[1,3,\"x\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":-1,\"stop\":null}",
     "[[0,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":0,\"start\":2,\"stop\":-1.0}",
     "[[0,2,\"x = 'ä'\"],[0,3,\"x\"]]"},
    {"{\"hist_access_type\":\"range\",\"session\":-1,\"start\":1,\"stop\":9}", "[]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"import*\"}",
     "[[1,1,\"import math\"],[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"import*\",\"unique\":true}",
     "[[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"*m*\",\"n\":1}", "[[1,4,\"import math\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"x = '?'\"}", "[[1,2,\"x = 'ä'\"]]"},
    {"{\"hist_access_type\":\"search\",\"pattern\":\"mat\"}", "[]"},
    {"{\"hist_access_type\":\"search\",\"n\":1}", "[[1,4,\"import math\"]]"},
};

Test(history, answers_range_tail_and_search)
{
    struct history *history = session();

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct buffer member = BUFFER_INIT, expected = BUFFER_INIT;

        cr_assert_null(ask(history, answers[i].content, 0, &member));
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
    "{\"hist_access_type\":\"tail\",\"raw\":1}",
    "{\"hist_access_type\":\"search\",\"pattern\":[]}",
    "{\"hist_access_type\":\"range\",\"session\":\"0\"}",
};

Test(history, names_what_is_wrong)
{
    struct history *history = session();

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct buffer member = BUFFER_INIT;

        cr_expect_not_null(ask(history, wrong[i], 0, &member), "%s", wrong[i]);
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
    cr_assert_null(
        ask(history, "{\"hist_access_type\":\"range\",\"start\":0,\"stop\":7}", 0, &member));
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

Test(history, a_session_that_has_a_number_is_told_by_it)
{
    static const struct {
        const char *content, *answer;
    } numbered[] = {
        {"{\"hist_access_type\":\"tail\",\"n\":1}", "[[7,4,\"import math\"]]"},
        {"{\"hist_access_type\":\"range\",\"session\":7,\"start\":4}", "[[7,4,\"import math\"]]"},
        {"{\"hist_access_type\":\"range\",\"session\":1,\"start\":1}", "[]"},
    };
    struct history *history = session();

    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++) {
        struct buffer member = BUFFER_INIT;

        cr_assert_null(ask(history, numbered[i].content, 7, &member));
        cr_expect_str_eq((const char *)member.p + strlen("\"history\":"), numbered[i].answer);
        buffer_release(&member);
    }
    history_release(history);
    free(history);
}

Test(history, a_tail_that_does_not_say_how_long_has_ten_lines)
{
    struct history *history = calloc(1, sizeof *history);
    struct buffer member = BUFFER_INIT;

    for (uint32_t line = 1; line <= 12; line++) {
        history_add(history, line, slice_of("\"x\""));
    }
    cr_assert_null(ask(history, "{\"hist_access_type\":\"tail\"}", 0, &member));
    cr_assert_eq(strncmp((const char *)member.p, "\"history\":[[1,3,", 16), 0, "%s",
                 (const char *)member.p);
    buffer_release(&member);
    history_release(history);
    free(history);
}

Test(history, newlines_at_the_end_of_a_cell_are_not_kept)
{
    static const struct {
        const char *raw, *kept;
    } cells[] = {
        {"\"\\n\"", "\"\""},
        {"\"a\\n\\n\"", "\"a\""},
        {"\"a\\\\n\"", "\"a\\\\n\""},
        {"\"a\\\\\\n\"", "\"a\\\\\""},
        {"\"\\\\n\"", "\"\\\\n\""},
        {"\"n\"", "\"n\""},
        {"\"\"", "\"\""},
    };

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct history *history = calloc(1, sizeof *history);
        struct buffer member = BUFFER_INIT, expected = BUFFER_INIT;

        history_add(history, 1, slice_of(cells[i].raw));
        cr_assert_null(ask(history, "{\"hist_access_type\":\"tail\"}", 0, &member));
        buffer_printf(&expected, "\"history\":[[1,1,%s]]", cells[i].kept);
        buffer_put_char(&expected, '\0');
        cr_expect_str_eq((const char *)member.p, (const char *)expected.p);
        buffer_release(&member);
        buffer_release(&expected);
        history_release(history);
        free(history);
    }
}

Test(history, a_result_is_found_by_its_line)
{
    struct history *history = session();

    cr_assert(slice_is(history_output(history, 3), "\"'ä'\""));
    for (uint32_t line = 0; line < 6; line++) {
        cr_expect(line == 3 || history_output(history, line).n == 0);
    }
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

Test(history, what_ipython_made_of_a_cell_is_told_instead_of_it)
{
    struct history *history = calloc(1, sizeof *history);
    struct buffer member = BUFFER_INIT;

    history_add(history, 1, slice_of("\"%a\""));
    cr_expect(history_set_source(history, 1, slice_of("\"a()\\n\"")));
    cr_expect_not(history_set_source(history, 1, slice_of("\"b()\"")), "it has one already");
    cr_expect_not(history_set_source(history, 2, slice_of("\"c()\"")), "there is no such cell");
    history_add(history, 2, slice_of("\"x\""));
    cr_expect_not(history_set_source(history, 1, slice_of("\"d()\"")), "it is not the last one");
    cr_assert_null(ask(history, "{\"hist_access_type\":\"tail\",\"raw\":false}", 0, &member));
    cr_expect_str_eq((const char *)member.p, "\"history\":[[1,1,\"a()\"],[1,2,\"x\"]]");
    buffer_clear(&member);
    cr_assert_null(ask(
        history, "{\"hist_access_type\":\"search\",\"pattern\":\"%*\",\"raw\":false}", 0, &member));
    cr_expect_str_eq((const char *)member.p, "\"history\":[[1,1,\"a()\"]]");
    buffer_release(&member);
    history_release(history);
    cr_expect_eq(history->bytes, 0);
    free(history);
}
