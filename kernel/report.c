/*
 * Texts about the worker's end. Runs in the kernel process.
 */

#include "kernel/report.h"

#include <signal.h>
#include <unistd.h>

enum { STACK_MAX = 64 << 10 };

void report_outcome(int outcome, struct buffer *ret_text)
{
    if (outcome < 0) {
        const char *name = sigabbrev_np(-outcome);
        const char *words = sigdescr_np(-outcome);

        buffer_printf(ret_text, "the Python process was killed by SIG%s (%s)", name ? name : "?",
                      words ? words : "unknown signal");
    } else {
        buffer_printf(ret_text, "the Python process ended with exit status %d", outcome);
    }
    buffer_put_char(ret_text, '\0');
}

void report_start(int outcome, struct slice written, const char *python, struct buffer *ret_text)
{
    static const char mend[] = "einkorn install";

    while (written.n > 0 && written.p[written.n - 1] == '\n') {
        written.n--;
    }
    buffer_printf(ret_text, "Python did not start (%s): ", python);
    if (written.n > 0) {
        buffer_put_slice(ret_text, written);
    } else {
        report_outcome(outcome, ret_text);
        ret_text->n--; /* its NUL */
    }
    if (!memmem(written.p, written.n, mend, sizeof mend - 1)) {
        buffer_printf(ret_text,
                      "\nTo mend it: repair this Python, or run `%s --python PATH` with one that "
                      "works, and start the kernel again.",
                      mend);
    }
    buffer_put_char(ret_text, '\0');
}

/* faulthandler ends with the names of all extension modules: hundreds, with pandas. */
static void cut_modules(struct buffer *text)
{
    static const char list[] = "\n\nExtension modules:";
    const uint8_t *at = text->n > 0 ? memmem(text->p, text->n, list, sizeof list - 1) : NULL;

    if (at) {
        text->n = (size_t)(at - text->p) + 1;
    }
}

void report_stack(int side_fd, struct buffer *ret_text)
{
    uint8_t bytes[4096];
    ssize_t n;

    while (ret_text->n < STACK_MAX && (n = read(side_fd, bytes, sizeof bytes)) > 0) {
        buffer_put(ret_text, bytes, (size_t)n);
    }
    cut_modules(ret_text);
    if (ret_text->n > 0) {
        buffer_put_char(ret_text, '\0');
    }
}
