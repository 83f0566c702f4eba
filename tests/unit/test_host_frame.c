/* kernel/host_frame.c: what is a frame, and what is in it. */

#include "kernel/host_frame.h"

#include <criterion/criterion.h>

Test(host_frame, python_numbers_are_json_and_nothing_else_is_that_python_would_not_write)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        {"[NaN, Infinity, -Infinity, 1]", true},
        {"{\"a\": NaN, \"NaN\": \"\\\"NaN\", \"b\": [Infinity]}", true},
        {"NaN", true},
        {"\"NaN", false},
        {"[NaN", false},
        {"[-NaN]", true}, /* nobody writes it, and it reads as a number */
        {"[nan]", false},
        {"[NaNN]", false},
        {"[Infinit]", false},
        {"[1NaN]", false},
        {"\"\\\\\" NaN", false},
        {"[123456789012345678901234567890123456789]", true},
        {"\"\\ud800\"", true},
        {"", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum json_kind kind;

        cr_expect_eq(host_json_check(slice_of(rows[i].text), &kind) == 0, rows[i].good, "%s",
                     rows[i].text);
    }
}

Test(host_frame, only_an_object_is_one)
{
    static const struct {
        const char *line;
        int result;
        enum host_frame_type type;
    } rows[] = {
        {"{}", 0, HOST_FRAME_OTHER},
        {"{\"type\":\"log\",\"msg\":\"m\"}", 0, HOST_FRAME_LOG},
        {"  {\"type\": \"response\"} ", 0, HOST_FRAME_RESPONSE},
        {"{\"type\":\"stdout_chunk\"}", 0, HOST_FRAME_STDOUT_CHUNK},
        {"{\"type\":\"host_call\",\"args\":[NaN]}", 0, HOST_FRAME_HOST_CALL},
        {"{\"type\":\"initialized\"}", 0, HOST_FRAME_INITIALIZED},
        {"{\"type\":\"variables_response\"}", 0, HOST_FRAME_VARIABLES_RESPONSE},
        {"{\"type\":5}", 0, HOST_FRAME_OTHER},
        {"{\"type\":\"\"}", 0, HOST_FRAME_OTHER},
        {"[1]", JSON_EKIND, 0},
        {"\"log\"", JSON_EKIND, 0},
        {"{\"type\":\"log\"", JSON_ESYNTAX, 0},
        {"{\"type\":\"\xff\"}", JSON_EUTF8, 0},
        {" ", JSON_ESYNTAX, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_frame frame;

        cr_expect_eq(host_frame_open(&frame, slice_of(rows[i].line)), rows[i].result, "%s",
                     rows[i].line);
        if (rows[i].result == 0) {
            cr_expect_eq(frame.type, rows[i].type, "%s", rows[i].line);
        }
    }
}

Test(host_frame, members_are_copies_decoded_or_raw)
{
    static const char line[] =
        "{\"a\":\"x\\u0000y\\n\\u00e9\",\"b\":[1, NaN],\"c\":null,\"d\":\"\\ud83d\\ude00\"}";
    struct host_frame frame;
    struct host_text text;

    cr_assert_eq(host_frame_open(&frame, slice_of(line)), 0);
    text = host_frame_text(&frame, "a");
    cr_assert_eq(text.n, 6);
    cr_assert_arr_eq(text.p, "x\0y\n\xc3\xa9", 7);
    host_text_release(&text);
    cr_assert_null(text.p);
    text = host_frame_raw(&frame, "b");
    cr_assert_str_eq(text.p, "[1, NaN]");
    host_text_release(&text);
    cr_assert_null(host_frame_text(&frame, "b").p);
    cr_assert_null(host_frame_text(&frame, "c").p);
    cr_assert_null(host_frame_raw(&frame, "e").p);
    text = host_frame_text(&frame, "d");
    cr_assert_str_eq(text.p, "\xf0\x9f\x98\x80");
    host_text_release(&text);
    cr_assert(host_frame_says(&frame, "d", "\xf0\x9f\x98\x80"));
    cr_assert_not(host_frame_says(&frame, "a", "x"));
}
