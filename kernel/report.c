/*
 * The text about a worker that never became ready. Runs in the kernel process.
 */

#include "kernel/report.h"

void report_start(const struct death *death, struct slice written, const char *python,
                  struct buffer *ret_text)
{
    static const char mend[] = "einkorn install";

    while (written.n > 0 && written.p[written.n - 1] == '\n') {
        written.n--;
    }
    buffer_printf(ret_text, "Python did not start (%s): ", python);
    if (written.n > 0) {
        buffer_put_slice(ret_text, written);
    } else {
        death_put_cause(death, ret_text);
    }
    if (!memmem(written.p, written.n, mend, sizeof mend - 1)) {
        buffer_printf(ret_text,
                      "\nTo mend it: repair this Python, or run `%s --python PATH` with one that "
                      "works, and start the kernel again.",
                      mend);
    }
    buffer_put_char(ret_text, '\0');
}
