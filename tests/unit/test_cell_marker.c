/* Tests of kernel/cell_marker.c: what one kernel leaves for the next. */

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "kernel/cell_marker.h"
#include "remove_tree.h"

static const struct memory_group at_start = {.counts = true, .kills = 2};
static char directory[] = "/tmp/ek-marker-XXXXXX";

static void make_directory(void)
{
    cr_assert(sodium_init() >= 0);
    cr_assert(mkdtemp(directory));
}

static void remove_directory(void)
{
    remove_tree(directory);
}

TestSuite(cell_marker, .init = make_directory, .fini = remove_directory);

static void open_marker(struct cell_marker *marker, const char *connection,
                        const struct memory_group *memory, struct buffer *ret_notice)
{
    cell_marker_init(marker);
    cell_marker_open(marker, directory, connection, memory, ret_notice);
}

/* Another process runs `cells` one after the other and is killed in the last. */
static void a_kernel_that_is_killed(const char *connection, const uint32_t *cells, size_t n)
{
    pid_t pid = fork();
    int status;

    cr_assert(pid >= 0);
    if (pid == 0) {
        struct buffer notice = BUFFER_INIT;
        struct cell_marker marker;

        open_marker(&marker, connection, &at_start, &notice);
        for (size_t i = 0; i < n; i++) {
            cell_marker_set(&marker, cells[i]);
        }
        (void)raise(SIGKILL);
    }
    cr_assert(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

/* What the next kernel on that connection file says. */
static void expect_notice(const char *connection, const struct memory_group *memory,
                          const char *part, const char *other_part)
{
    struct buffer notice = BUFFER_INIT;
    struct cell_marker marker;

    open_marker(&marker, connection, memory, &notice);
    if (part) {
        cr_assert(notice.n > 0);
        cr_assert(strstr((const char *)notice.p, part), "%s", (const char *)notice.p);
        cr_assert_eq(strstr((const char *)notice.p, "OOM killer") != NULL, other_part != NULL);
        cr_assert(!other_part || strstr((const char *)notice.p, other_part), "%s",
                  (const char *)notice.p);
    } else {
        cr_assert_eq(notice.n, 0, "%s", (const char *)notice.p);
    }
    buffer_release(&notice);
    cell_marker_release(&marker);
}

Test(cell_marker, the_next_kernel_tells_in_which_cell_this_one_was_killed)
{
    a_kernel_that_is_killed("/x/k.json", (const uint32_t[]){1, 0, 12}, 3);
    expect_notice("/x/k.json", &at_start, "while cell [12] ran", NULL);
    expect_notice("/x/k.json", &at_start, NULL, NULL); /* once */
}

Test(cell_marker, it_tells_of_the_oom_killer_if_that_was_there)
{
    const struct memory_group now = {.counts = true, .kills = 4, .name = "/g", .limit = 1024};

    a_kernel_that_is_killed("/x/k.json", (const uint32_t[]){3}, 1);
    expect_notice("/x/k.json", &now, "while cell [3] ran", "oom_kill went from 2 to 4");
}

Test(cell_marker, nothing_is_said_of_a_kernel_that_was_idle_ended_well_or_was_another)
{
    struct buffer notice = BUFFER_INIT;
    struct cell_marker marker;

    a_kernel_that_is_killed("/x/k.json", (const uint32_t[]){12, 0}, 2);
    expect_notice("/x/k.json", &at_start, NULL, NULL);

    open_marker(&marker, "/x/k.json", &at_start, &notice);
    cell_marker_set(&marker, 5);
    cell_marker_release(&marker);
    expect_notice("/x/k.json", &at_start, NULL, NULL);

    a_kernel_that_is_killed("/x/k.json", (const uint32_t[]){12}, 1);
    expect_notice("/x/other.json", &at_start, NULL, NULL);
}

Test(cell_marker, a_kernel_that_lives_keeps_its_marker)
{
    struct buffer notice = BUFFER_INIT;
    struct cell_marker first, second;

    open_marker(&first, "/x/k.json", &at_start, &notice); /* this process lives */
    cell_marker_set(&first, 7);
    open_marker(&second, "/x/k.json", &at_start, &notice);
    cr_assert_eq(second.fd, -1);
    cr_assert_eq(notice.n, 0);
    cell_marker_set(&second, 8);
    cell_marker_release(&second);
    cr_assert_eq(access(first.path, F_OK), 0);
    cell_marker_release(&first);
    cr_assert_eq(access(first.path, F_OK), -1);
}

Test(cell_marker, nonsense_in_the_file_and_a_missing_directory_are_nothing)
{
    struct buffer notice = BUFFER_INIT;
    struct cell_marker marker;
    char path[PATH_MAX];
    FILE *file;

    open_marker(&marker, "/x/k.json", &at_start, &notice);
    (void)snprintf(path, sizeof path, "%s", marker.path);
    cell_marker_release(&marker);
    file = fopen(path, "w");
    (void)fputs("7 5 1 1 1 nonsense", file);
    (void)fclose(file);
    expect_notice("/x/k.json", &at_start, NULL, NULL);

    cell_marker_init(&marker);
    cell_marker_open(&marker, "/no/such/place", "/x/k.json", &at_start, &notice);
    cell_marker_set(&marker, 1);
    cell_marker_release(&marker);
    cr_assert_eq(notice.n, 0);
}

Test(cell_marker, many_old_ones_whose_kernels_are_gone_are_removed)
{
    enum { MANY = 60 };
    struct buffer notice = BUFFER_INIT;
    const struct utimbuf long_ago = {1000000, 1000000};
    struct cell_marker alive, last;
    int left = 0;
    char path[PATH_MAX];

    open_marker(&alive, "/x/alive.json", &at_start, &notice);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(path, sizeof path, "%s/running-%04d", directory, i);
        FILE *file = fopen(path, "w");
        cr_assert(file);
        (void)fclose(file);
        cr_assert(utime(path, &long_ago) == 0);
    }
    cr_assert(utime(alive.path, &long_ago) == 0);
    open_marker(&last, "/x/last.json", &at_start, &notice);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(path, sizeof path, "%s/running-%04d", directory, i);
        left += access(path, F_OK) == 0;
    }
    cr_assert_leq(left, 32);
    cr_assert_eq(access(alive.path, F_OK), 0);
    cr_assert_eq(access(last.path, F_OK), 0);
    cell_marker_release(&alive);
    cell_marker_release(&last);
}
