/* bridge/frames_channel.c, frames_standard.c: descriptors that cells may do anything to. */

#include "frames_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bridge/frames_standard.h"

TestSuite(frames_channel, .init = frames_start);

#define IN  "_openai4s_protocol_stdin"
#define OUT "_openai4s_protocol_stdout"

static bool same_file(int one, int other)
{
    struct stat a;
    struct stat b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void expect_line(const char *wanted)
{
    const char *line = line_read();
    cr_assert(line != NULL && strcmp(line, wanted) == 0, "\"%s\", not \"%s\"", line, wanted);
}

Test(frames_channel, descriptors_lie_high_and_are_not_inherited)
{
    const char *const names[] = {IN, OUT};
    for (size_t i = 0; i < 2; i++) {
        cr_expect(gt(int, published(names[i]), 255));
        cr_expect(eq(int, fcntl(published(names[i]), F_GETFD), FD_CLOEXEC));
    }
    cr_expect(same_file(1, 2));
    char byte;
    cr_expect(eq(long, (long)read(0, &byte, 1), 0), "fd 0 is at its end");
}

Test(frames_channel, lines_are_cut_however_they_come)
{
    static const char *const pieces[] = {"one\ntw", "o\n\nthree", "\n", "four\nfive\nsix"};
    static const char *const lines[] = {"one", "two", "", "three", "four", "five", "six"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        host_says(pieces[i]);
    }
    close(host.to);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_line(lines[i]);
    }
    cr_expect(line_read() == NULL, "the end");
    cr_expect(line_read() == NULL, "and it stays the end");
}

static void *say_much(void *unused)
{
    static char piece[1 << 16];
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 64; i++) {
        for (size_t done = 0; done < sizeof piece;) {
            ssize_t n = write(host.to, piece + done, sizeof piece - done);
            done += n > 0 ? (size_t)n : 0;
        }
    }
    host_says("\nafter\n");
    return unused;
}

Test(frames_channel, a_line_of_4_megabytes)
{
    pthread_t thread;
    PyObject *line = NULL;
    cr_assert(pthread_create(&thread, NULL, say_much, NULL) == 0);
    cr_assert(eq(int, py_channel_read_line(&line), 0));
    cr_expect(eq(long, (long)PyBytes_Size(line), 64L << 16));
    expect_line("after");
    (void)pthread_join(thread, NULL);
    Py_DECREF(line);
}

Test(frames_channel, what_is_closed_or_covered_is_made_anew_once)
{
    static const struct {
        const char *code;
        bool costs_reserve; /* where only the object is gone, the descriptor is not */
    } spoil[] = {
        {"import os, sys\nos.close(sys." IN ".fileno())\n", true},
        {"import os, sys\nos.dup2(os.open('/dev/null', 0), sys." IN ".fileno())\n", true},
        {"import sys\nsys." IN " = None\n", false},
        {"import sys\nsys." IN ".close()\n", false},
        {"import sys\ndel sys." IN "\n", false},
        {"import io, sys\nsys." IN " = io.StringIO('forged')\n", false},
    };
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            /* a child of its own for each, whose channel a fork has taken away: make another */
            int in[2];
            (void)pipe(in);
            (void)dup2(in[0], 0);
            host.to = in[1];
            bool good = py_channel_open() == 0 && py_exec(spoil[i].code);
            host_says("still here\n");
            good = good && strcmp(line_read(), "still here") == 0;
            good = good && published(IN) >= 0;
            if (!spoil[i].costs_reserve) {
                host_says("and here\n");
                good = good && py_exec("import os, sys\nos.close(sys." IN ".fileno())\n");
                good = good && strcmp(line_read(), "and here") == 0;
            }
            PyObject *line = NULL; /* there is no second reserve */
            good = good && py_exec("import os, sys\nos.close(sys." IN ".fileno())\n");
            good = good && py_channel_read_line(&line) == -1 && channel_is_lost();
            _exit(good ? 0 : 1);
        }
        int status = -1;
        (void)waitpid(pid, &status, 0);
        cr_expect(eq(int, status, 0), "%s", spoil[i].code);
    }
}

Test(frames_channel, bytes_of_another_file_are_never_taken_for_a_request)
{
    cr_assert(py_exec("import os, sys\n"
                      "r, w = os.pipe()\n"
                      "os.write(w, b'forged\\n')\n"
                      "os.dup2(r, sys." IN ".fileno())\n"));
    host_says("true\n");
    expect_line("true");
    cr_expect(eq(int, (int)PyList_Size(PySys_GetObject("_openai4s_parked_wrappers")), 1));
    cr_expect(PySys_GetObject("_openai4s_proto_in_reserve") == Py_None);
}

Test(frames_channel, writing_goes_on_where_the_way_out_is_covered)
{
    static const char *const spoil[] = {
        "import os, sys\nos.dup2(2, sys." OUT ".fileno())\n",
        "pass\n",
    };
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        cr_assert(py_exec(spoil[i]));
        py_channel_look();
        cr_expect(eq(int, channel_write("frame\n", 6), 0));
        cr_expect(eq(int, py_channel_written(0), 0));
        cr_expect(zero(int, strcmp(host_hears(), "frame\n")));
    }
}

Test(frames_channel, a_way_out_that_is_lost_is_an_exception)
{
    for (int i = 0; i < 2; i++) {
        cr_assert(py_exec("import os, sys\nos.close(sys." OUT ".fileno())\n"));
        py_channel_look();
        int error = channel_write("x\n", 2);
        cr_expect(eq(int, error, i == 0 ? 0 : -EBADF));
        cr_expect(eq(int, py_channel_written(error), i == 0 ? 0 : -1));
    }
    cr_expect(PyErr_ExceptionMatches(PyExc_RuntimeError));
}

Test(frames_channel, a_host_that_is_gone_is_an_error)
{
    close(host.from);
    (void)signal(SIGPIPE, SIG_IGN); /* as Python has it */
    py_channel_look();
    cr_expect(eq(int, channel_write("x\n", 2), -EPIPE));
}

Test(frames_channel, closed_standard_descriptors_are_filled_and_others_left)
{
    int mine[2];
    cr_assert(pipe(mine) == 0);
    close(0);
    close(2);
    (void)dup2(mine[1], 1);
    standard_mend();
    cr_expect(eq(int, fcntl(0, F_GETFD), 0));
    cr_expect(eq(int, fcntl(2, F_GETFD), 0));
    cr_expect(same_file(1, mine[1]));
    cr_expect(not(same_file(2, mine[1])));
}

static void on_usr1(int number)
{
    (void)number;
}

Test(frames_channel, a_signal_does_not_end_a_read)
{
    struct sigaction action = {.sa_handler = on_usr1};
    (void)sigaction(SIGUSR1, &action, NULL);
    pid_t child = fork();
    if (child == 0) {
        pid_t parent = getppid();
        for (int i = 0; i < 50; i++) {
            (void)kill(parent, SIGUSR1);
            (void)usleep(1000);
        }
        (void)write(host.to, "late\n", 5);
        _exit(0);
    }
    expect_line("late");
    while (waitpid(child, NULL, 0) != child) {
    }
}

/* Until the main thread has fallen asleep, as the system says. */
static void until_it_sleeps(void)
{
    char state = 'R';
    while (state != 'S') {
        char text[256] = "";
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
        FILE *file = fopen(path, "r");
        cr_assert(file != NULL && fgets(text, sizeof text, file) != NULL);
        (void)fclose(file);
        state = strrchr(text, ')')[2];
    }
}

static void *speak_when_it_sleeps(void *unused)
{
    until_it_sleeps();
    host_says("awake\n");
    return unused;
}

static void *signal_when_it_sleeps(void *unused)
{
    until_it_sleeps();
    (void)kill(getpid(), SIGUSR1); /* this thread could take it as well */
    return unused;
}

static void expect_line_while(void *(*act)(void *), const char *wanted)
{
    pthread_t thread;
    cr_assert(pthread_create(&thread, NULL, act, NULL) == 0);
    if (wanted != NULL) {
        expect_line(wanted);
    } else {
        PyObject *line = NULL;
        cr_expect(eq(int, py_channel_read_line(&line), -1));
    }
    (void)pthread_join(thread, NULL);
}

#define RAISING                                                                                    \
    "import signal\n"                                                                              \
    "def handler(*a): raise LookupError\n"                                                         \
    "signal.signal(signal.SIGUSR1, handler)\n"

Test(frames_channel, a_line_ends_the_sleep, .timeout = 60)
{
    expect_line_while(speak_when_it_sleeps, "awake");
}

Test(frames_channel, a_handler_that_raises_ends_the_sleep, .timeout = 60)
{
    cr_assert(py_exec(RAISING));
    expect_line_while(signal_when_it_sleeps, NULL);
    cr_expect(PyErr_ExceptionMatches(PyExc_LookupError));
    PyErr_Clear();
    host_says("after\n");
    expect_line("after");
}

Test(frames_channel, a_signal_that_has_come_ends_the_wait, .timeout = 60)
{
    PyObject *line = NULL;
    cr_assert(py_exec(RAISING));
    (void)raise(SIGUSR1);
    cr_expect(eq(int, py_channel_read_line(&line), -1));
    cr_expect(PyErr_ExceptionMatches(PyExc_LookupError));
}

Test(frames_channel, a_forked_child_has_the_numbers_but_not_the_files)
{
    int in = published(IN);
    int out = published(OUT);
    host_says("not for children\n");
    pid_t child = fork();
    if (child == 0) {
        char byte;
        bool good = read(in, &byte, 1) == 0 && write(out, "forged\n", 7) == 7;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    cr_expect(eq(int, status, 0));
    cr_expect(zero(int, strcmp(host_hears(), "")));
    expect_line("not for children");
}
