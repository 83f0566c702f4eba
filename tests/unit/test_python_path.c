/* Tests of kernel/python_path.c. */

#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernel/python_path.h"

static const struct {
    const char *wanted, *environment, *path, *chosen;
} choices[] = {
    {"/opt/x/bin/python", "/venv", "/bin", "/opt/x/bin/python"},
    {"here/python", "/venv", "/bin", "here/python"},
    {NULL, "/venv", "/bin", "/venv/bin/python"},
    {"sh", "/venv", "/nonexistent::/bin:/usr/bin", "/bin/sh"},
    {"sh", "", "/bin", "/bin/sh"},
    {"no-such-python", "", "/bin", "no-such-python"},
    {NULL, "", "/nonexistent", "python3"},
};

Test(python_path, is_what_is_wanted_or_the_environments_or_on_the_path)
{
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        char *chosen;

        (void)setenv("VIRTUAL_ENV", choices[i].environment, 1);
        (void)setenv("PATH", choices[i].path, 1);
        chosen = python_path(choices[i].wanted);
        cr_expect_str_eq(chosen, choices[i].chosen, "%zu", i);
        free(chosen);
    }
}
