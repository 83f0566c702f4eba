/*
 * kernel/log.c: whole lines, in levels, and never a wait.
 */

#include "kernel/log.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/expect_text.h"

static int reading, writing;
static char text[1 << 17];

static void set_up(void)
{
    int ends[2];
    cr_assert(eq(int, pipe2(ends, O_CLOEXEC), 0));
    reading = ends[0];
    writing = ends[1];
    cr_assert(eq(int, fcntl(reading, F_SETFL, O_NONBLOCK), 0));
    log_init(writing, LEVEL_DEBUG);
}

TestSuite(log, .init = set_up, .timeout = 10);

/* What the log has written so far. */
static char *written(void)
{
    ssize_t n = read(reading, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

Test(log, line_has_a_prefix_and_one_end)
{
    log_info("worker started pid=%d name=%s", 42, "x");
    EXPECT_TEXT(written(), "einkorn: worker started pid=42 name=x\n");
}

Test(log, levels_above_the_limit_are_dropped)
{
    static const char *const expected[] = {
        [LEVEL_ERROR] = "einkorn: e\n",
        [LEVEL_WARNING] = "einkorn: e\neinkorn: w\n",
        [LEVEL_INFO] = "einkorn: e\neinkorn: w\neinkorn: i\n",
        [LEVEL_DEBUG] = "einkorn: e\neinkorn: w\neinkorn: i\neinkorn: d\n",
    };
    for (int level = LEVEL_ERROR; level <= LEVEL_DEBUG; level++) {
        log_init(writing, (enum log_level)level);
        log_error("e");
        log_warning("w");
        log_info("i");
        log_debug("d");
        cr_expect(strcmp(written(), expected[level]) == 0, "level %d", level);
    }
}

Test(log, text_stays_one_line)
{
    log_error("a%sb", "\n\r\t\x1b[0m\x7f");
    EXPECT_TEXT(written(), "einkorn: a    [0m b\n");
}

Test(log, long_text_is_cut_and_marked)
{
    char *many = malloc(10000);
    memset(many, 'x', 9999);
    many[9999] = '\0';
    log_error("%s", many);
    written();
    cr_expect(eq(sz, strlen(text), PIPE_BUF - 1));
    EXPECT_TEXT(text + strlen(text) - 5, "x...\n");
    free(many);
}

Test(log, longest_text_that_fits_is_not_cut)
{
    size_t n = PIPE_BUF - strlen("einkorn: ") - 2;
    char *many = malloc(n + 1);
    memset(many, 'x', n);
    many[n] = '\0';
    log_error("%s", many);
    EXPECT_TEXT(written() + PIPE_BUF - 4, "xx\n");
    free(many);
}

Test(log, full_pipe_loses_lines_and_does_not_wait)
{
    char block[PIPE_BUF];
    memset(block, 'y', sizeof block);
    cr_assert(eq(int, fcntl(writing, F_SETFL, O_NONBLOCK), 0));
    while (write(writing, block, sizeof block) > 0) {
    }
    cr_assert(eq(int, fcntl(writing, F_SETFL, 0), 0));
    for (int i = 0; i < 100; i++) {
        log_error("lost %d", i);
    }
    while (written()[0] != '\0') {
        cr_expect(eq(ptr, strchr(text, 'l'), NULL));
    }
    log_error("seen");
    EXPECT_TEXT(written(), "einkorn: seen\n");
}

Test(log, closed_pipe_and_closed_fd_do_no_harm)
{
    /* SIGPIPE has its default action here: a write would end the test. */
    cr_assert(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    close(reading);
    log_error("nobody reads");
    close(writing);
    log_error("nothing there");
    log_init(-1, LEVEL_DEBUG);
    log_error("nowhere");
}

Test(log, errno_is_kept_and_can_be_logged)
{
    errno = ENOENT;
    log_error("open: %m");
    cr_expect(eq(int, errno, ENOENT));
    EXPECT_TEXT(written(), "einkorn: open: No such file or directory\n");
    log_init(-1, LEVEL_DEBUG);
    errno = EPERM;
    log_error("x");
    cr_expect(eq(int, errno, EPERM));
}
