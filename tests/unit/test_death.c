/* Tests of kernel/death.c: what is known of an end, and the words for it. */

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/death.h"

static const char native[] = "Native stack (innermost first):\n/lib/libc.so.6(abort+0x1)[0x2]\n"
                             "/x/_einkorn.abi3.so(+0x1)[0x2]\n/lib/libc.so.6(main+0x1)[0x2]\n";

/* The cause, of a death that is otherwise without facts. The caller's. */
static char *cause_of(struct death death, const char *words, const char *fd2)
{
    struct buffer text = BUFFER_INIT;
    size_t n;

    if (death.cpu_limit.rlim_max == 0) {
        death.cpu_limit.rlim_max = RLIM_INFINITY;
    }
    buffer_put_text(&death.words, words);
    buffer_put_text(&death.fd2, fd2);
    death_put_cause(&death, &text);
    buffer_put_char(&text, '\0');
    death_release(&death);
    return (char *)buffer_detach(&text, &n);
}

Test(death, the_cause_is_said_in_words)
{
    static const struct {
        const char *text;
        struct death death;
        const char *words, *fd2;
    } rows[] = {
        {"Python ended with exit status 7", {.outcome = 7}, "", ""},
        {"Python ended with exit status 0 in the middle of the cell, as os._exit() does",
         {.outcome = 0, .in_cell = true},
         "",
         ""},
        {"Python ended with exit status 1; einkorn: it broke",
         {.outcome = 1, .in_cell = true},
         "",
         "Traceback\nRuntimeError: \x1b[35meinkorn: it broke\x1b[0m\n"},
        {"Python was killed by SIGSEGV (segmentation fault)", {.outcome = -SIGSEGV}, "", ""},
        {"Python was killed by SIGSEGV (segmentation fault): a null pointer was used",
         {.outcome = -SIGSEGV},
         "einkorn-fault 11 1 8 7ffd00000000 0\nFatal Python error",
         ""},
        {"Python was killed by SIGSEGV (segmentation fault): the address 0x7f0000001000 was used",
         {.outcome = -SIGSEGV},
         "earlier words\neinkorn-fault 11 2 7f0000001000 7ffd00000000 0\n",
         ""},
        {"Python was killed by SIGSEGV (segmentation fault): the C stack overflowed, by a "
         "recursion that was too deep",
         {.outcome = -SIGSEGV},
         "einkorn-fault 11 1 7ffcfffffff8 7ffd00000000 0\n",
         ""},
        {"Python was killed by SIGSEGV (segmentation fault): it sent the signal to itself",
         {.outcome = -SIGSEGV, .pid = 77},
         "einkorn-fault 11 0 0 7ffd00000000 77\n",
         ""},
        {"Python was killed by SIGBUS (bus error): process 78 sent the signal",
         {.outcome = -SIGBUS, .pid = 77},
         "einkorn-fault 7 0 0 7ffd00000000 78\n",
         ""},
        {"Python was killed by SIGBUS (bus error)", /* a note of another signal is none of it */
         {.outcome = -SIGBUS},
         "einkorn-fault 11 1 0 7ffd00000000 0\n",
         ""},
        {"Python was killed by SIGSEGV (segmentation fault): an address was used that cannot exist",
         {.outcome = -SIGSEGV},
         "einkorn-fault 11 128 0 7ffd00000000 0\n",
         ""},
        {"Python was killed by SIGILL (illegal instruction)",
         {.outcome = -SIGILL},
         "einkorn-fault 4 2 7f0000001000 7ffd00000000 0\n",
         ""},
        {"Python was killed by SIGILL (illegal instruction): process 9 sent the signal",
         {.outcome = -SIGILL},
         "einkorn-fault 4 0 0 7ffd00000000 9\n",
         ""},
        {"Python was killed by SIGFPE (arithmetic error)", /* a note that is cut */
         {.outcome = -SIGFPE},
         "einkorn-fault 8 1",
         ""},
        {"Python was killed by SIGABRT (aborted)", {.outcome = -SIGABRT}, "", ""},
        {"Python was killed by SIGABRT (aborted): Fatal Python error: tstate: no GIL",
         {.outcome = -SIGABRT},
         "",
         "before\nFatal Python error: tstate: no GIL\nPython runtime state: initialized\n"},
        {"Python was killed by SIGABRT (aborted); its last line on fd 2 was: free(): invalid "
         "pointer",
         {.outcome = -SIGABRT},
         "",
         "loading\nfree(): invalid pointer\n\n"},
        {"Python was killed by SIGABRT (aborted); its last line on fd 2 was: one",
         {.outcome = -SIGABRT},
         "",
         "one"},
        {"Python was killed by SIGKILL (killed)", {.outcome = -SIGKILL}, "", ""},
        {"Python was killed by SIGKILL (killed): another process sent the signal; it was not the "
         "OOM killer",
         {.outcome = -SIGKILL,
          .before = {.counts = true, .kills = 3},
          .after = {.counts = true, .kills = 3}},
         "",
         ""},
        {"Python was killed by SIGKILL (killed): out of memory, Linux's OOM killer chose it; "
         "cgroup /job may use 512.0 MiB and used at most 511.5 MiB; the group's counter oom_kill "
         "went from 3 to 4",
         {.outcome = -SIGKILL,
          .before = {.counts = true, .kills = 3},
          .after =
              {.counts = true, .kills = 4, .name = "/job", .limit = 512 << 20, .peak = 1023 << 19}},
         "",
         ""},
        {"Python was killed by SIGKILL (killed): its CPU time reached its hard limit, 2 s "
         "(RLIMIT_CPU)",
         {.outcome = -SIGKILL,
          .cpu_ms = 2001,
          .cpu_limit = {.rlim_cur = 1, .rlim_max = 2},
          .before = {.counts = true},
          .after = {.counts = true, .kills = 1}},
         "",
         ""},
        {"Python was killed by SIGXCPU (CPU time limit): its CPU time reached its limit "
         "(RLIMIT_CPU)",
         {.outcome = -SIGXCPU, .cpu_limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY}},
         "",
         ""},
        {"Python was killed by SIGUSR1 (User defined signal 1)", {.outcome = -SIGUSR1}, "", ""},
        {"Python was ended by the kernel: it had broken something",
         {.outcome = -SIGKILL, .reason = "it had broken something"},
         "",
         ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *cause = cause_of(rows[i].death, rows[i].words, rows[i].fd2);

        cr_expect_str_eq(cause, rows[i].text);
        free(cause);
    }
}

static void expect_details(struct death *death, const char *expected)
{
    struct buffer text = BUFFER_INIT;

    death_put_details(death, &text);
    cr_assert_str_eq((const char *)text.p, expected);
    buffer_release(&text);
    death_release(death);
}

Test(death, details_are_both_stacks_memory_and_times)
{
    struct death death = {.outcome = -SIGABRT,
                          .in_cell = true,
                          .ran_ms = 61007,
                          .peak = 3 << 20,
                          .cpu_ms = 250,
                          .memory_limit = {.rlim_cur = 1 << 30}};

    buffer_put_text(&death.words, "einkorn-fault 6 0 0 1 2\nFatal Python error: Aborted\n\nCurrent "
                                  "thread:\n  File x\n\nExtension modules: a, b (total: 2)\n");
    buffer_put_text(&death.words, native);
    expect_details(&death,
                   "Fatal Python error: Aborted\n\nCurrent thread:\n  File x\n\n"
                   "Native stack (innermost first):\n/lib/libc.so.6(abort+0x1)[0x2]\n\n"
                   "Peak memory 3.0 MiB, CPU time 0.250 s, the cell ran for 61.007 s; its address "
                   "space was limited to 1.0 GiB (RLIMIT_AS).");
}

Test(death, a_recursion_is_folded)
{
    struct death death = {.outcome = -SIGSEGV, .memory_limit = {.rlim_cur = RLIM_INFINITY}};

    buffer_put_text(&death.words, "Fatal\n\n  in f\n  in f\n  in f\n  in g\n  in h\n  in h\n");
    expect_details(&death, "Fatal\n\n  in f\n  … the same 2 more times\n  in g\n  in h\n  … the "
                           "same 1 more time\n\nPeak memory 0.0 KiB, CPU time 0.000 s.");
}

Test(death, our_own_frame_is_left_out_and_an_exec_of_the_users_is_not)
{
    static const char ours[] = "  File \"<string>\", line 1 in <module>\n";
    struct death death = {.outcome = -SIGSEGV, .memory_limit = {.rlim_cur = RLIM_INFINITY}};

    buffer_put_text(&death.words, "Fatal\n\nCurrent thread:\n");
    buffer_put_text(&death.words, ours);
    buffer_put_text(&death.words, "  File \"<cell 1>\", line 1 in <module>\n");
    buffer_put_text(&death.words, ours);
    buffer_put_text(&death.words, "\nThread:\n  in f\n");
    expect_details(&death,
                   "Fatal\n\nCurrent thread:\n  File \"<string>\", line 1 in <module>\n  File "
                   "\"<cell 1>\", line 1 in <module>\n\nThread:\n  in f\n\nPeak memory 0.0 "
                   "KiB, CPU time 0.000 s.");
}

Test(death, a_death_without_last_words_says_that_there_is_no_stack)
{
    struct death death = {.outcome = 3, .memory_limit = {.rlim_cur = RLIM_INFINITY}};

    expect_details(&death, "There is no stack: this end leaves Python no time to write one.\n\n"
                           "Peak memory 0.0 KiB, CPU time 0.000 s.");
}

/* A child that ends as told, not reaped. */
static pid_t ended_child(void (*body)(void))
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        body();
        _exit(0);
    }
    cr_assert(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    return pid;
}

static void use_memory_and_be_killed(void)
{
    enum { BYTES = 64 << 20 };
    const struct rlimit cpu = {7, 9};
    char *memory = malloc(BYTES);

    (void)setrlimit(RLIMIT_CPU, &cpu);
    for (size_t i = 0; i < BYTES; i += 512) {
        ((volatile char *)memory)[i] = 1;
    }
    (void)raise(SIGKILL);
}

Test(death, a_zombie_tells_signal_peak_memory_and_its_limits)
{
    pid_t pid = ended_child(use_memory_and_be_killed);
    struct death death;

    death_init(&death, pid);
    cr_assert_eq(death.outcome, -SIGKILL);
    cr_assert_geq(death.peak, 64 << 20);
    cr_assert_lt(death.peak, 1 << 30);
    cr_assert_eq(death.cpu_limit.rlim_cur, 7);
    cr_assert_eq(death.cpu_limit.rlim_max, 9);
    cr_assert_eq(death.memory_limit.rlim_cur, RLIM_INFINITY);
    cr_assert_eq(waitpid(pid, NULL, 0), pid, "it was not reaped");
    death_release(&death);
}

static void be_terminated(void)
{
    (void)raise(SIGTERM);
}

static void exit_quietly(void)
{
}

Test(death, only_a_sigterm_of_others_was_wanted)
{
    static void (*const bodies[])(void) = {be_terminated, exit_quietly, use_memory_and_be_killed};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct death death;

        death_init(&death, ended_child(bodies[i]));
        cr_assert_eq(death_was_wanted(&death), i == 0);
        death.reason = "we did it";
        cr_assert_not(death_was_wanted(&death));
        death_release(&death);
    }
}

Test(death, what_lies_in_the_side_pipe_is_taken_up_to_a_bound)
{
    static const char line[] = "0123456789abcdef0123456789abcdef\n";
    struct death death = {.outcome = 0};
    int fds[2];

    cr_assert(pipe(fds) == 0);
    cr_assert(write(fds[1], line, sizeof line - 1) == sizeof line - 1);
    (void)close(fds[1]);
    death_read_words(&death, fds[0]);
    cr_assert_eq(death.words.n, sizeof line - 1);
    cr_assert_arr_eq(death.words.p, line, sizeof line - 1);
    (void)close(fds[0]);

    FILE *file = tmpfile();
    for (size_t i = 0; i < 50000; i++) {
        (void)fputs(line, file);
    }
    rewind(file);
    death_read_words(&death, fileno(file));
    cr_assert_lt(death.words.n, 1100 << 10);
    (void)fclose(file);
    death_release(&death);
}
