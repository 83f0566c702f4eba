/* bridge/usage.c: the peak is the cell's own, whatever it does to memory and descriptors. */

#include "bridge/usage.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 64 << 20, LARGE_KB = LARGE / 1024, MUCH_KB = LARGE_KB * 3 / 4 };

static void *take(void)
{
    void *p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    memset(p, 1, LARGE);
    return p;
}

static void give_back(void *p)
{
    cr_assert_eq(munmap(p, LARGE), 0);
}

static void *nothing(void *p)
{
    return p;
}

static void *take_and_give_back(void *p)
{
    give_back(take());
    return p;
}

/* A page that is asked for: the mark is looked at then. */
static void *touch(void *p)
{
    void *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(page, MAP_FAILED);
    *(char *)page = 1;
    cr_assert_eq(munmap(page, 1), 0);
    return p;
}

static void *take_more(void *p)
{
    (void)p;
    return take();
}

static void *give_all_back(void *p)
{
    give_back(p);
    return NULL;
}

/* What a cell that does this is told as its peak. */
static long peak_of(void *(*cell)(void *), void **p)
{
    struct usage_mark begin;
    struct usage used;
    usage_begin(USAGE_PEAK_OF_CELL, &begin);
    *p = cell(*p);
    usage_end(&begin, &used);
    return used.peak_rss_kb;
}

static void expect_the_cells_own(void)
{
    void *p = NULL;
    long idle = peak_of(nothing, &p);
    cr_expect_gt(idle, 0);
    cr_expect_gt(peak_of(take_and_give_back, &p), idle + MUCH_KB);
    cr_expect_lt(peak_of(nothing, &p), idle + MUCH_KB);
    cr_expect_gt(peak_of(take_more, &p), idle + MUCH_KB);
    cr_expect_gt(peak_of(nothing, &p), idle + MUCH_KB, "it is there when the cell begins");
    cr_expect_gt(peak_of(give_all_back, &p), idle + MUCH_KB, "the same");
    cr_expect_lt(peak_of(nothing, &p), idle + MUCH_KB);
    p = take();
    cr_expect_gt(peak_of(nothing, &p), idle + MUCH_KB, "taken between cells");
    give_back(p);
    cr_expect_lt(peak_of(touch, &p), idle + MUCH_KB, "given back between cells");
    cr_expect_lt(peak_of(nothing, &p), idle + MUCH_KB);
    cr_expect_lt(peak_of(touch, &p), idle + MUCH_KB);
}

Test(usage, peaks_are_the_cells_own)
{
    expect_the_cells_own();
}

Test(usage, a_cell_may_close_all_files)
{
    void *p = NULL;
    (void)peak_of(nothing, &p);
    for (int fd = 256; fd < 1024; fd++) {
        (void)close(fd);
    }
    expect_the_cells_own();
}

Test(usage, a_file_that_covers_ours_is_left_alone)
{
    char path[] = "/tmp/einkorn-usage-XXXXXX";
    struct stat status;
    void *p = NULL;
    int covered = 0;
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    (void)unlink(path);
    (void)peak_of(nothing, &p);
    for (int fd = 256; fd < 1024; fd++) {
        covered += fcntl(fd, F_GETFD) >= 0 && dup2(file, fd) == fd ? 1 : 0;
    }
    cr_assert_eq(covered, 2);
    expect_the_cells_own();
    cr_assert_eq(fstat(file, &status), 0);
    cr_expect_eq(status.st_size, 0);
    (void)close(file);
}

Test(usage, a_forked_child_has_none_of_them)
{
    void *p = NULL;
    int status = 0;
    (void)peak_of(nothing, &p);
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 256; fd < 1024; fd++) {
            if (fcntl(fd, F_GETFD) >= 0) {
                _exit(1);
            }
        }
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}

Test(usage, is_written_with_four_digits)
{
    static const struct {
        struct usage usage;
        const char *text;
    } rows[] = {
        {{0, 0, 1}, "{\"wall_s\":0.0000,\"cpu_s\":0.0000,\"peak_rss_kb\":1}"},
        {{1.00005, 12.3, 20}, "{\"wall_s\":1.0001,\"cpu_s\":12.3000,\"peak_rss_kb\":20}"},
        {{0.01234, -1e-9, 0}, "{\"wall_s\":0.0123,\"cpu_s\":0.0000,\"peak_rss_kb\":0}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buffer json = BUFFER_INIT;
        usage_put(&rows[i].usage, &json);
        buffer_put_char(&json, '\0');
        cr_expect_str_eq((const char *)json.p, rows[i].text);
        buffer_release(&json);
    }
}
