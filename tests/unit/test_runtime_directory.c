/* kernel/runtime_directory.c: its bounds. Which variable wins, test_connection.c has. */

#include "kernel/runtime_directory.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/expect_text.h"
#include "tests/unit/remove_tree.h"

Test(runtime_directory, one_that_does_not_fit_is_an_error)
{
    char path[16];
    setenv("JUPYTER_RUNTIME_DIR", "/123456789012345", 1);
    cr_expect(eq(int, runtime_directory(path, sizeof path), -ENAMETOOLONG));
    setenv("JUPYTER_RUNTIME_DIR", "/12345678901234", 1);
    cr_assert(eq(int, runtime_directory(path, sizeof path), 0));
    EXPECT_TEXT(path, "/12345678901234");
}

Test(runtime_directory, our_own_is_made_in_it_for_the_user_alone)
{
    char root[] = "/tmp/ek-runtime-XXXXXX", runtime[64], own[64], path[PATH_MAX];
    struct stat facts;

    cr_assert(ne(ptr, mkdtemp(root), NULL));
    (void)snprintf(runtime, sizeof runtime, "%s/a/b", root);
    (void)snprintf(own, sizeof own, "%s/a/b/einkorn", root);
    setenv("JUPYTER_RUNTIME_DIR", runtime, 1);
    cr_assert(eq(int, runtime_directory_own(path, strlen(own)), -ENAMETOOLONG));
    cr_assert(eq(int, runtime_directory_own(path, 8), -ENAMETOOLONG));
    cr_assert(eq(int, runtime_directory_own(path, sizeof path), 0));
    EXPECT_TEXT(path, own);
    cr_assert(eq(int, stat(path, &facts), 0));
    cr_expect(eq(int, facts.st_mode &(S_IFMT | 0777), S_IFDIR | 0700));
    cr_expect(eq(int, runtime_directory_own(path, sizeof path), 0));
    setenv("JUPYTER_RUNTIME_DIR", "/dev/null/none", 1);
    cr_expect(eq(int, runtime_directory_own(path, sizeof path), -ENOTDIR));
    remove_tree(root);
}
