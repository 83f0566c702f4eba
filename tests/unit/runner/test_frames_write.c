/* bridge/frames_write.c, frames_stream.c, frames_cell.c: frames as the host sees them. */

#include "frames_fixture.h"

#include <stdio.h>
#include <sys/wait.h>

#include "bridge/forked.h"
#include "bridge/frames_cell.h"
#include "bridge/frames_stream.h"
#include "bridge/gate.h"

static void start(void)
{
    frames_start();
    cr_assert(py_frames_stream_init() == 0);
}

TestSuite(frames_write, .init = start);

static void expect_heard(const char *wanted)
{
    const char *heard = host_hears();
    cr_expect(zero(int, strcmp(heard, wanted)), "\"%s\", not \"%s\"", heard, wanted);
}

Test(frames_write, a_dict_is_one_line)
{
    static const struct {
        const char *frame;
        const char *line;
    } rows[] = {
        {"{}", "{}\n"},
        {"{'type': 'log', 'msg': 'a\\nb'}", "{\"type\": \"log\", \"msg\": \"a\\nb\"}\n"},
        {"{'a': [1, 2.5, None, True, {'b': ()}]}", "{\"a\": [1, 2.5, null, true, {\"b\": []}]}\n"},
        {"{'a': 'ä\U0001f600\\ud800'}", "{\"a\": \"ä\U0001f600\uFFFD\"}\n"},
        {"{'a': float('nan')}", "{\"a\": NaN}\n"},
        {"{'a': [float('inf'), -float('inf'), 10 ** 30]}",
         "{\"a\": [Infinity, -Infinity, 1000000000000000000000000000000]}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PyObject *frame = py_eval(rows[i].frame);
        cr_expect(eq(int, py_frame_write(frame), 0));
        expect_heard(rows[i].line);
        Py_DECREF(frame);
    }
}

Test(frames_write, what_is_too_large_or_no_json_is_replaced)
{
    static const struct {
        const char *frame;
        const char *line;
    } rows[] = {
        {"{'type': 'stdout_chunk', 'id': 'c', 'text': 'x' * 20_000_000}",
         "{\"type\": \"log\", \"msg\": \"kernel dropped an oversized 'stdout_chunk' frame "
         "(>20000000 bytes)\"}\n"},
        {"{'type': 'response', 'id': 'c', 'stdout': 'x' * 20_000_000, 'interrupted': True}",
         "{\"type\": \"response\", \"id\": \"c\", \"stdout\": \"\", \"stderr\": \"\", \"error\": "
         "\"kernel dropped an oversized 'response' frame (>20000000 bytes)\", "
         "\"interrupted\": true}\n"},
        {"{'type': 'response', 'id': '', 'stdout': 'x' * 20_000_000}",
         "{\"type\": \"log\", \"msg\": \"kernel dropped an oversized 'response' frame "
         "(>20000000 bytes)\"}\n"},
        {"{'text': 'x' * 20_000_000}",
         "{\"type\": \"log\", \"msg\": \"kernel dropped an oversized 'unknown' frame "
         "(>20000000 bytes)\"}\n"},
        {"{'type': 'response', 'id': 5, 'a': (lambda a: a.append(a) or a)([])}",
         "{\"type\": \"response\", \"id\": 5, \"stdout\": \"\", \"stderr\": \"\", \"error\": "
         "\"kernel dropped a 'response' frame that is no JSON (RecursionError)\", "
         "\"interrupted\": false}\n"},
        {"{'type': 'log', 'a': type('S', (), {'__str__': lambda self: 1 / 0})()}",
         "{\"type\": \"log\", \"msg\": \"kernel dropped a 'log' frame that is no JSON "
         "(ZeroDivisionError)\"}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PyObject *frame = py_eval(rows[i].frame);
        cr_assert(frame != NULL);
        cr_expect(eq(int, py_frame_write(frame), 0));
        expect_heard(rows[i].line);
        Py_DECREF(frame);
    }
}

/* The cap itself, to the byte; the host reads it in a child, for a pipe holds less. */
Test(frames_write, a_frame_of_just_the_cap_is_sent)
{
    static const char before[] = "{\"t\": \"";
    for (int over = 0; over < 2; over++) {
        PyObject *frame = PyDict_New();
        size_t n = FRAME_MAX - sizeof before - 2 + (size_t)over; /* with quote, brace, newline */
        char expression[64];
        (void)snprintf(expression, sizeof expression, "'x' * %zu", n);
        PyObject *text = py_eval(expression);
        int lengths[2];
        cr_assert(frame != NULL && text != NULL && PyDict_SetItemString(frame, "t", text) == 0 &&
                  pipe(lengths) == 0);
        pid_t reader = fork();
        if (reader == 0) {
            static char piece[1 << 16];
            size_t total = 0;
            do {
                ssize_t got = read(host.from, piece, sizeof piece);
                total += got > 0 ? (size_t)got : 0;
                if (got > 0 && piece[got - 1] == '\n') {
                    break;
                }
            } while (true);
            (void)write(lengths[1], &total, sizeof total);
            _exit(0);
        }
        size_t total = 0;
        cr_expect(eq(int, py_frame_write(frame), 0));
        cr_assert(eq(sz, (size_t)read(lengths[0], &total, sizeof total), sizeof total));
        if (over == 0) {
            cr_expect(eq(sz, total, (size_t)FRAME_MAX));
        } else {
            cr_expect(lt(sz, total, (size_t)200));
        }
        Py_DECREF(frame);
        Py_DECREF(text);
    }
}

Test(frames_write, a_forked_child_says_nothing)
{
    static const struct link_fds none = {-1, -1, -1, {-1, -1}, -1};
    cr_assert(forked_init(&none) == 0);
    PyObject *frame = py_eval("{'forged': 1}");
    pid_t child = fork();
    if (child == 0) {
        _exit(py_frame_write(frame) == 0 ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    cr_expect(eq(int, status, 0));
    expect_heard("");
    Py_DECREF(frame);
}

Test(frames_write, a_stream_says_what_it_keeps)
{
    PyObject *id = py_eval("'c'");
    PyObject *stream = py_frames_stream_new(id);
    PyObject *written = PyObject_CallMethod(stream, "write", "s", "text");
    PyObject *text = py_frames_stream_text(stream);
    cr_expect(eq(long, PyLong_AsLong(written), 4L));
    cr_expect(zero(int, PyUnicode_CompareWithASCIIString(text, "text")));
    expect_heard("{\"type\":\"stdout_chunk\",\"id\":\"c\",\"text\":\"text\"}\n");
    Py_DECREF(id);
    Py_DECREF(written);
    Py_DECREF(text);
    Py_DECREF(stream);
}

Test(frames_write, a_silent_stream_is_let_go_without_leaks)
{
    for (int i = 0; i < 3; i++) {
        PyObject *stream = py_frames_stream_new(NULL);
        PyObject *done = PyObject_CallMethod(stream, "write", "s", "text");
        cr_assert(done != NULL);
        Py_DECREF(done);
        Py_DECREF(stream);
    }
    expect_heard("");
}

/* ---- arming ------------------------------------------------------------------------------- */

static PyObject *py_arm(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    py_frames_cell_arm();
    Py_RETURN_NONE;
}

static PyMethodDef arm_method = {"arm", py_arm, METH_NOARGS, NULL};

static void offer_arm(void)
{
    PyObject *arm = PyCFunction_New(&arm_method, NULL);
    PyObject *main_b = PyImport_AddModule("__main__");
    cr_assert(arm != NULL && PyModule_AddObjectRef(main_b, "arm", arm) == 0);
    Py_DECREF(arm);
    cr_assert(py_gate_open_single() == 0);
}

Test(frames_write, arming_that_fails_is_announced)
{
    offer_arm();
    cr_assert(py_exec("import threading\n"
                      "thread = threading.Thread(target=arm)\n"
                      "thread.start()\n"
                      "thread.join()\n"));
    expect_heard(
        "{\"type\": \"log\", \"msg\": \"SIGINT could not be armed for this cell (ValueError: "
        "signal only works in main thread of the main interpreter); it cannot be "
        "interrupted and only the watchdog can end it\"}\n");
}

Test(frames_write, arming_that_works_is_not)
{
    offer_arm();
    cr_assert(py_exec("arm()\n"));
    expect_heard("");
}
