/* kernel/worker_environment.c: what is replaced, what is added, what is the user's. */

#include "kernel/worker_environment.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/expect_text.h"

enum { ENTRIES = 12 };

static const struct {
    const char *from[ENTRIES];
    const char *to[ENTRIES];
} cases[] = {
    {{NULL},
     {"TERM=xterm-color", "PAGER=cat", "GIT_PAGER=cat", "CLICOLOR=1", "FORCE_COLOR=1",
      "CLICOLOR_FORCE=1"}},
    {{"A=1", "TERM=dumb", "B=", "PAGER=less", "GIT_PAGER=", "C=x=y"},
     {"A=1", "B=", "C=x=y", "TERM=xterm-color", "PAGER=cat", "GIT_PAGER=cat", "CLICOLOR=1",
      "FORCE_COLOR=1", "CLICOLOR_FORCE=1"}},
    {{"FORCE_COLOR=0", "CLICOLOR="},
     {"FORCE_COLOR=0", "CLICOLOR=", "TERM=xterm-color", "PAGER=cat", "GIT_PAGER=cat",
      "CLICOLOR_FORCE=1"}},
    {{"NO_COLOR=1", "TERMINFO=/x", "MANPAGER=less", "TERM"},
     {"NO_COLOR=1", "TERMINFO=/x", "MANPAGER=less", "TERM=xterm-color", "PAGER=cat",
      "GIT_PAGER=cat"}},
    {{"NO_COLOR="},
     {"NO_COLOR=", "TERM=xterm-color", "PAGER=cat", "GIT_PAGER=cat", "CLICOLOR=1", "FORCE_COLOR=1",
      "CLICOLOR_FORCE=1"}},
};

Test(worker_environment, describes_what_a_cell_writes_to_and_leaves_the_rest)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *from[ENTRIES + 1] = {NULL};
        char **to;
        size_t n = 0;

        for (; cases[i].from[n] != NULL; n++) {
            from[n] = (char *)(uintptr_t)cases[i].from[n];
        }
        to = worker_environment_new(from);
        for (n = 0; to[n] != NULL && cases[i].to[n] != NULL; n++) {
            EXPECT_TEXT(to[n], cases[i].to[n]);
        }
        cr_expect(to[n] == NULL && cases[i].to[n] == NULL, "case %zu: entry %zu", i, n);
        free(to);
    }
}
