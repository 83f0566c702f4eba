/* kernel/host_lines.c: lines out of pieces, and the bound of one. */

#include "kernel/host_lines.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static void add(struct host_lines *lines, const char *bytes, size_t n)
{
    memcpy(host_lines_room(lines, n), bytes, n);
    host_lines_added(lines, n);
}

Test(host_lines, come_out_whole_however_they_are_cut)
{
    static const char text[] = "one\n\ntwo and a bit\nthree\n";
    static const char *const expected[] = {"one", "", "two and a bit", "three"};

    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct host_lines lines;
        struct slice line;
        size_t found = 0;

        host_lines_init(&lines, 100);
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;

            add(&lines, text + at, left < piece ? left : piece);
            while (host_lines_next(&lines, &line) == 1) {
                cr_assert_lt(found, 4);
                cr_assert(slice_is(line, expected[found]), "piece %zu, line %zu", piece, found);
                found++;
            }
        }
        cr_assert_eq(found, 4);
        cr_assert_eq(host_lines_waiting(&lines), 0);
        host_lines_release(&lines);
    }
}

Test(host_lines, a_line_may_have_the_limit_and_no_byte_more)
{
    static const struct {
        const char *text;
        int result;
    } rows[] = {{"12345\n", 1}, {"12345", 0}, {"123456", -EMSGSIZE}, {"123456\n", -EMSGSIZE}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_lines lines;
        struct slice line;

        host_lines_init(&lines, 5);
        add(&lines, rows[i].text, strlen(rows[i].text));
        cr_assert_eq(host_lines_next(&lines, &line), rows[i].result, "%s", rows[i].text);
        host_lines_release(&lines);
    }
}

Test(host_lines, room_of_a_long_line_is_given_back)
{
    static char text[3 * 1024 * 1024];
    struct host_lines lines;
    struct slice line;

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\n';
    host_lines_init(&lines, sizeof text);
    add(&lines, text, sizeof text);
    cr_assert_eq(host_lines_next(&lines, &line), 1);
    cr_assert_eq(line.n, sizeof text - 1);
    add(&lines, "a\n", 2);
    cr_assert_lt(lines.bytes.size, 1024 * 1024);
    cr_assert_eq(host_lines_next(&lines, &line), 1);
    cr_assert(slice_is(line, "a"));
    host_lines_release(&lines);
}

Test(host_lines, old_bytes_do_not_pile_up)
{
    struct host_lines lines;
    struct slice line;

    host_lines_init(&lines, 1000);
    add(&lines, "begin", 5);
    for (int i = 0; i < 100000; i++) {
        add(&lines, " and\nbegin", 10);
        cr_assert_eq(host_lines_next(&lines, &line), 1);
        cr_assert(slice_is(line, "begin and"));
    }
    cr_assert_lt(lines.bytes.size, 1000);
    host_lines_release(&lines);
}
