/* Tests of kernel/early_text.c. */

#include <criterion/criterion.h>
#include <stdio.h>

#include "kernel/early_text.h"
#include "kernel/log.h"

/* What the log says of a text. */
static void expect_log(size_t *logged, const char *text, const char *wanted)
{
    static char told[4096];
    FILE *file = tmpfile();
    size_t n;

    cr_assert(file != NULL);
    log_init(fileno(file), LEVEL_INFO);
    early_text_log(logged, slice_of(text));
    rewind(file);
    n = fread(told, 1, sizeof told - 1, file);
    told[n] = '\0';
    cr_assert_str_eq(told, wanted);
    (void)fclose(file);
}

Test(early_text, each_line_has_one_in_the_log)
{
    size_t logged = 0;

    expect_log(&logged, "one\n\ntwo\nthr",
               "einkorn: Python wrote before the first cell: one\n"
               "einkorn: Python wrote before the first cell: two\n"
               "einkorn: Python wrote before the first cell: thr\n");
    expect_log(&logged, "", "");
}

Test(early_text, what_is_too_much_is_dropped_and_that_is_told_once)
{
    size_t logged = EARLY_TEXT_MAX - 3;

    expect_log(&logged, "12345\n",
               "einkorn: Python wrote before the first cell: 123\n"
               "einkorn: Python writes on before the first cell: the rest is dropped\n");
    expect_log(&logged, "more\n", "");
}
