/* Tests of kernel/report.c. */

#include <criterion/criterion.h>
#include <signal.h>

#include "kernel/report.h"

#define MEND                                                                                       \
    "\nTo mend it: repair this Python, or run `einkorn install --python PATH` with one that "      \
    "works, and start the kernel again."

Test(report, a_failed_start_tells_what_the_worker_wrote_or_how_it_ended_and_how_to_mend_it)
{
    static const struct {
        int outcome;
        const char *written, *text;
    } rows[] = {
        {121, "no such file\n\n", "Python did not start (/x/python): no such file" MEND},
        {121, "gone; `einkorn install` finds it",
         "Python did not start (/x/python): gone; `einkorn install` finds it"},
        {-SIGKILL, "",
         "Python did not start (/x/python): Python was killed by SIGKILL (killed)" MEND},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct death death = {.outcome = rows[i].outcome};
        struct buffer text = BUFFER_INIT;

        death.cpu_limit.rlim_max = RLIM_INFINITY;
        report_start(&death, slice_of(rows[i].written), "/x/python", &text);
        cr_assert_str_eq((const char *)text.p, rows[i].text);
        buffer_release(&text);
    }
}
