/* Tests of kernel/report.c. */

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "kernel/report.h"

static const struct {
    int outcome;
    const char *text;
} outcomes[] = {
    {-SIGSEGV, "the Python process was killed by SIGSEGV (Segmentation fault)"},
    {-SIGKILL, "the Python process was killed by SIGKILL (Killed)"},
    {7, "the Python process ended with exit status 7"},
    {0, "the Python process ended with exit status 0"},
};

Test(report, names_signal_or_exit_status)
{
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        struct buffer text = BUFFER_INIT;

        report_outcome(outcomes[i].outcome, &text);
        cr_assert_str_eq((const char *)text.p, outcomes[i].text);
        buffer_release(&text);
    }
}

#define MEND                                                                                       \
    "\nTo mend it: repair this Python, or run `einkorn install --python PATH` with one that "      \
    "works, and start the kernel again."

Test(report, a_failed_start_tells_what_the_worker_wrote_or_how_it_ended_and_how_to_mend_it)
{
    struct buffer text = BUFFER_INIT;

    report_start(121, slice_of("no such file\n\n"), "/x/python", &text);
    cr_assert_str_eq((const char *)text.p, "Python did not start (/x/python): no such file" MEND);
    buffer_clear(&text);
    report_start(121, slice_of("gone; `einkorn install` finds it"), "/x/python", &text);
    cr_assert_str_eq((const char *)text.p,
                     "Python did not start (/x/python): gone; `einkorn install` finds it");
    buffer_clear(&text);
    report_start(-SIGKILL, slice_of(""), "/x/python", &text);
    cr_assert_str_eq((const char *)text.p, "Python did not start (/x/python): the Python process "
                                           "was killed by SIGKILL (Killed)" MEND);
    buffer_release(&text);
}

Test(report, stack_is_what_lies_in_the_side_pipe_without_the_list_of_modules)
{
    struct buffer text = BUFFER_INIT;
    int fds[2];

    cr_assert(pipe(fds) == 0);
    cr_assert(dprintf(fds[1], "Fatal\n\nExtension modules: a, b (total: 2)\n") > 0);
    (void)close(fds[1]);
    report_stack(fds[0], &text);
    cr_assert_str_eq((const char *)text.p, "Fatal\n");
    buffer_release(&text);
    report_stack(fds[0], &text);
    cr_assert_eq(text.n, 0);
    (void)close(fds[0]);
}
