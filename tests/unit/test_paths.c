/*
 * kernel/paths.c: the parts are found from where the executable is, whatever
 * the working directory is and by whatever link it was started.
 */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/paths.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

Test(paths, program_is_this_executable)
{
    char expected[PATH_MAX];
    cr_assert(ne(ptr, realpath("/proc/self/exe", expected), NULL));
    struct paths paths;
    cr_assert(eq(int, paths_init(&paths), 0));
    cr_assert(eq(str, paths.program, expected));
    paths_release(&paths);
}

Test(paths, parts_are_absolute_without_dots_and_independent_of_the_working_directory)
{
    cr_assert(eq(int, chdir("/"), 0));
    struct paths paths;
    cr_assert(eq(int, paths_init(&paths), 0));
    const char *const parts[] = {paths.library, paths.launcher, paths.runner, paths.python,
                                 paths.kernelspec};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        cr_expect(eq(chr, parts[i][0], '/'), "%s", parts[i]);
        cr_expect(eq(ptr, strstr(parts[i], ".."), NULL), "%s", parts[i]);
    }
    paths_release(&paths);
}

Test(paths, private_directory_is_beside_the_one_of_the_executable)
{
    struct paths paths;
    cr_assert(eq(int, paths_init(&paths), 0));
    char *prefix = strdup(paths.program);
    *strrchr(prefix, '/') = '\0';
    *strrchr(prefix, '/') = '\0';
    char library[PATH_MAX];
    int n = snprintf(library, sizeof(library), "%s%s", prefix, EINKORN_PRIVATE_FROM_BIN + 2);
    cr_assert(lt(int, n, (int)sizeof(library)));
    cr_expect(eq(str, paths.library, library));
    cr_expect(ends_with(paths.launcher, "/einkorn/einkorn-python"));
    cr_expect(ends_with(paths.runner, "/einkorn/_einkorn.abi3.so"));
    cr_expect(ends_with(paths.python, "/einkorn/python"));
    cr_expect(ends_with(paths.kernelspec, "/einkorn/kernelspec"));
    free(prefix);
    paths_release(&paths);
}

Test(paths, release_twice_is_harmless)
{
    struct paths paths;
    cr_assert(eq(int, paths_init(&paths), 0));
    paths_release(&paths);
    cr_expect(eq(ptr, paths.program, NULL));
    paths_release(&paths);
}
