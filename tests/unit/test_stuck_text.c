/* Tests of kernel/stuck_text.c: the words of the stuck report. */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "kernel/stuck_text.h"

static char *words(const struct process_facts *facts, long long waited_ms, int64_t cpu_ms,
                   const char *stacks)
{
    static struct buffer text;

    buffer_clear(&text);
    stuck_text(waited_ms, facts, cpu_ms, slice_of(stacks), &text);
    buffer_put_char(&text, '\0');
    return (char *)text.p;
}

/* The first line: what is said of the process. */
static char *first_line(const struct process_facts *facts)
{
    char *text = words(facts, 2000, -1, "");

    text[strcspn(text, "\n")] = '\0';
    return text;
}

#define SAYS "Python has not reacted to the interrupt for 2 s: it "

Test(stuck_text, what_the_process_does)
{
    static const struct {
        struct process_facts facts;
        const char *text;
    } cases[] = {
        {{.state = 'R'}, SAYS "runs code that is not Python's own."},
        {{.state = 0}, SAYS "runs, and the system does not tell what it does."},
        {{.state = 'S'}, SAYS "waits in the system."},
        {{.state = 'S', .wait_channel = "pipe_read"}, SAYS "waits in the system (at pipe_read)."},
        {{.state = 'S', .call = "futex"}, SAYS "waits in the system call futex."},
        {{.state = 'S', .call = "read", .file = "pipe:[12]", .wait_channel = "pipe_read"},
         SAYS "waits in the system call read of pipe:[12] (at pipe_read)."},
        {{.state = 'D', .call = "read", .file = "/mnt/a"},
         SAYS "waits in the system call read of /mnt/a, which nothing can interrupt."},
        {{.state = 'T', .call = "read"}, SAYS "is stopped by a signal or a debugger."},
        {{.state = 'S', .call = "wait4", .child = 71, .child_name = "make"},
         SAYS "waits for the child process 71 (make)."},
        {{.state = 'S', .call = "wait4", .child = 71}, SAYS "waits for the child process 71."},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_str_eq(first_line(&cases[i].facts), cases[i].text);
    }
}

Test(stuck_text, how_long_and_how_much_of_the_cpu)
{
    struct process_facts facts = {.state = 'R'};

    cr_expect(strstr(words(&facts, 2230, 1960, ""), " for 2 s: ") != NULL);
    cr_expect(strstr(words(&facts, 61700, 1960, ""), " for 62 s: ") != NULL);
    cr_expect(strstr(words(&facts, 2230, 1960, ""),
                     "own, and has used 2.0 s of CPU time since.\n") != NULL);
    cr_expect(strstr(words(&facts, 2230, -1, ""), "CPU") == NULL, "not known, not said");
}

Test(stuck_text, what_can_be_done_is_said)
{
    struct process_facts facts = {.state = 'R'};

    cr_expect(strstr(words(&facts, 2000, 0, ""), "restart the kernel") != NULL);
}

Test(stuck_text, the_stacks_with_the_cells_thread_first_and_without_our_own_frame)
{
    struct process_facts facts = {.state = 'R'};
    const char *text = words(&facts, 2000, 0,
                             "Thread 0x02 (most recent call first):\n"
                             "  File \"a.py\", line 1 in f\n"
                             "\n"
                             "Current thread 0x01 (most recent call first):\n"
                             "  File \"<cell 1>\", line 2 in <module>\n"
                             "  File \"<string>\", line 1 in <module>\n");

    cr_expect_str_eq(strstr(text, "\n\n"), "\n\nCurrent thread 0x01 (most recent call first):\n"
                                           "  File \"<cell 1>\", line 2 in <module>\n"
                                           "\n"
                                           "Thread 0x02 (most recent call first):\n"
                                           "  File \"a.py\", line 1 in f\n");
}

Test(stuck_text, stacks_of_an_unknown_form_are_shown_as_they_are)
{
    struct process_facts facts = {.state = 'R'};

    cr_expect_str_eq(strstr(words(&facts, 2000, 0, "  <no frames>\n\n"), "\n\n"),
                     "\n\n  <no frames>\n");
}

Test(stuck_text, without_stacks_it_is_said_that_there_are_none)
{
    struct process_facts facts = {.state = 'D'};

    cr_expect(strstr(words(&facts, 2000, 0, ""), "stacks could not be had") != NULL);
}

Test(stuck_text, many_threads_are_cut_at_a_line_and_the_cells_is_kept)
{
    struct process_facts facts = {.state = 'R'};
    struct buffer stacks = BUFFER_INIT;
    const char *text;

    for (int i = 0; i < 2000; i++) {
        buffer_printf(&stacks, "  File \"%04d.py\", line 1 in f\n", i);
    }
    buffer_put_text(&stacks, "\nCurrent thread 0x01 (most recent call first):\n  File \"me\"\n");
    buffer_put_char(&stacks, '\0');
    text = words(&facts, 2000, 0, (const char *)stacks.p);
    cr_expect(strlen(text) < STUCK_STACKS_SHOWN + 1000);
    cr_expect_str_eq(text + strlen(text) - strlen("in f\n  ...\n"), "in f\n  ...\n");
    cr_expect(strstr(text, "File \"me\"\n\n  File \"0000.py\"") != NULL);
    buffer_release(&stacks);
}
