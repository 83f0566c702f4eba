/* bridge/forked.c: lines of children, and how a child that leaves its cell ends. */

#include "bridge/forked.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/port.h"
#include "interpreter.h"

static struct link_consumer consumer;
static struct link_fds fds;
static int stdio[2];

static void start(void)
{
    interpreter_start();
    cr_assert(py_exec("def describe(e): return (type(e).__name__, str(e), ['first', 'second'])\n"
                      "def fails(e): raise ValueError"));
    cr_assert(eq(int, link_consumer_init(&consumer, &fds, stdio), 0));
    cr_assert(eq(int, forked_init(&fds), 0));
}

static void stop(void)
{
    link_consumer_release(&consumer);
}

TestSuite(forked, .init = start, .fini = stop);

/* A child of the worker's whose fd 1 and fd 2 are the pipes. -> 0 in it. */
static pid_t fork_child(void)
{
    pid_t pid;
    (void)fflush(NULL);
    pid = fork();
    cr_assert(ge(int, pid, 0));
    if (pid == 0) {
        (void)dup2(stdio[0], 1);
        (void)dup2(stdio[1], 2);
        close(stdio[0]);
        close(stdio[1]);
        PyOS_AfterFork_Child();
    } else {
        close(stdio[0]);
        close(stdio[1]);
    }
    return pid;
}

static int status_of(pid_t pid)
{
    int status;
    cr_assert(eq(int, waitpid(pid, &status, 0), pid));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* What a child that has ended wrote. */
static const char *written(int stream)
{
    static char text[4096];
    size_t n = 0;
    ssize_t more;
    while ((more = read(consumer.pipe[stream], text + n, sizeof text - 1 - n)) > 0) {
        n += (size_t)more;
    }
    text[n] = '\0';
    return text;
}

static void expect_written(int stream, const char *wanted)
{
    const char *got = written(stream);
    cr_expect(zero(int, strcmp(got, wanted)), "on %d \"%s\", not \"%s\"", stream + 1, got, wanted);
}

Test(forked, the_worker_itself_is_no_child)
{
    cr_expect(not(forked_is_child()));
    pid_t pid = fork_child();
    if (pid == 0) {
        _exit(forked_is_child() ? 5 : 6);
    }
    cr_expect(eq(int, status_of(pid), 5));
    cr_expect(not(forked_is_child()));
}

Test(forked, a_child_loses_the_door_and_reports_its_crash_on_stderr)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        const int gone[] = {fds.memory, fds.bell, fds.request, fds.pipe[0], fds.pipe[1]};
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
            if (fcntl(gone[i], F_GETFD) != -1) {
                _exit(10 + (int)i);
            }
        }
        _exit(fcntl(fds.side, F_GETFD) == FD_CLOEXEC ? 0 : 20);
    }
    cr_expect(eq(int, status_of(pid), 0));
}

Test(forked, whole_lines_leave_at_once_and_the_rest_when_it_is_flushed)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        if (py_forked_put(PORT_STDOUT, slice_of("one\ntwo\nthr")) != 0 ||
            py_forked_put(PORT_STDERR, slice_of("warning")) != 0 || write(1, "|", 1) != 1 ||
            py_forked_put(PORT_STDOUT, slice_of("ee\nfo")) != 0 || write(1, "|", 1) != 1 ||
            py_forked_flush(PORT_STDOUT) != 0 || py_forked_flush(PORT_STDOUT) != 0) {
            _exit(1);
        }
        _exit(0);
    }
    cr_expect(eq(int, status_of(pid), 0));
    expect_written(0, "one\ntwo\n|three\n|fo");
    expect_written(1, "");
}

Test(forked, a_grandchild_does_not_repeat_the_line_that_its_parent_began)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        int status = 1;
        (void)py_forked_put(PORT_STDOUT, slice_of("begun "));
        pid_t grandchild = fork();
        if (grandchild == 0) {
            (void)py_forked_put(PORT_STDOUT, slice_of("inner\n"));
            _exit(forked_is_child() ? 0 : 1);
        }
        (void)waitpid(grandchild, &status, 0);
        (void)py_forked_put(PORT_STDOUT, slice_of("ended\n"));
        _exit(status);
    }
    cr_expect(eq(int, status_of(pid), 0));
    expect_written(0, "inner\nbegun ended\n");
}

Test(forked, a_child_ends_as_a_script_would)
{
    static const struct {
        const char *exception; /* NULL: none */
        int status;
        const char *text; /* on stderr */
        const char *describe;
    } rows[] = {
        {NULL, 0, "", "describe"},
        {"SystemExit()", 0, "", "describe"},
        {"SystemExit(None)", 0, "", "describe"},
        {"SystemExit(0)", 0, "", "describe"},
        {"SystemExit(7)", 7, "", "describe"},
        {"SystemExit(256 + 3)", 3, "", "describe"},
        {"SystemExit('gone')", 1, "gone\n", "describe"},
        {"SystemExit(2.5)", 1, "2.5\n", "describe"},
        {"ValueError('x')", 1, "first\nsecond\n", "describe"},
        {"KeyboardInterrupt()", 1, "first\nsecond\n", "describe"},
        {"ValueError('x')", 1, "", "fails"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i > 0) {
            link_consumer_release(&consumer);
            link_fds_close(&fds);
            cr_assert(eq(int, link_consumer_init(&consumer, &fds, stdio), 0));
        }
        PyObject *exception = rows[i].exception != NULL ? py_eval(rows[i].exception) : NULL;
        PyObject *describe = py_eval(rows[i].describe);
        pid_t pid = fork_child();
        if (pid == 0) {
            (void)py_forked_put(PORT_STDOUT, slice_of("no line end"));
            py_forked_end(exception, describe);
        }
        cr_expect(eq(int, status_of(pid), rows[i].status), "%s", rows[i].exception);
        expect_written(0, "no line end");
        expect_written(1, rows[i].text);
        Py_XDECREF(exception);
        Py_DECREF(describe);
    }
}
