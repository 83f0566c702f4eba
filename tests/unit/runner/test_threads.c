/* bridge/threads.c: threads start as they always did, and take the speaker along. */

#include "bridge/threads.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "bridge/speaker.h"
#include "interpreter.h"

static uint64_t spoken_for; /* the request of the last text */

static int py_hear(uint64_t request, int stream, struct slice text)
{
    (void)stream;
    (void)text;
    spoken_for = request;
    return 0;
}

static const struct port port = {.py_stream = py_hear};

/* say(): the current speaker says something. */
static PyObject *py_say(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    struct speaker *speaker = py_speaker_current();
    int error = py_speaker_say_utf8(speaker, PORT_STDOUT, slice_of("x"));
    py_speaker_leave(speaker);
    return error == 0 ? PyLong_FromUnsignedLongLong(spoken_for) : NULL;
}

static PyMethodDef say = {"say", py_say, METH_NOARGS, NULL};

static void start(void)
{
    interpreter_start();
    PyObject *main_b = PyImport_AddModule("__main__");
    cr_assert(py_exec("import threading, _thread, sys\n"
                      "def run(start, function, *rest):\n"
                      "    lock, got = _thread.allocate_lock(), []\n"
                      "    lock.acquire()\n"
                      "    def body(*args, **options):\n"
                      "        try: got.append(function(*args, **options))\n"
                      "        finally: lock.release()\n"
                      "    start(body, *rest)\n"
                      "    lock.acquire()\n"
                      "    return got[0]\n"
                      "before = _thread.start_new_thread"));
    cr_assert(eq(int, py_speaker_init(&port, 0), 0));
    cr_assert(eq(int, py_threads_init(), 0));
    PyObject *function = PyCFunction_New(&say, NULL);
    cr_assert(eq(int, PyModule_AddObjectRef(main_b, "say", function), 0));
    cr_assert(eq(int, PyModule_AddObjectRef(main_b, "context", speaker_context_b()), 0));
    Py_DECREF(function);
}

TestSuite(threads, .init = start);

static void expect_true(const char *expression)
{
    PyObject *value = py_eval(expression);
    if (value == NULL) {
        PyErr_Print();
    }
    cr_assert(ne(ptr, value, NULL), "%s", expression);
    cr_expect(eq(int, PyObject_IsTrue(value), 1), "%s", expression);
    Py_DECREF(value);
}

Test(threads, every_way_to_start_one_is_wrapped)
{
    expect_true("_thread.start_new_thread is not before");
    expect_true("threading._start_new_thread is _thread.start_new_thread"
                " if hasattr(threading, '_start_new_thread') else True");
    expect_true("threading._start_joinable_thread is _thread.start_joinable_thread"
                " if hasattr(_thread, 'start_joinable_thread') else True");
}

Test(threads, arguments_and_keywords_arrive)
{
    expect_true("run(_thread.start_new_thread, lambda *a, **k: (a, k), (1, 2), {'k': 3})"
                " == ((1, 2), {'k': 3})");
    expect_true("run(_thread.start_new_thread, lambda: 'bare', ()) == 'bare'");
    expect_true("run(lambda body: threading.Thread(target=body, args=(4,)).start(),"
                " lambda n: n) == 4");
}

Test(threads, wrong_arguments_raise_what_python_raises)
{
    static const char *const wrong[] = {"()", "(1, ())", "(print,)", "(print, 1)",
                                        "(print, (), 1)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char code[400];
        (void)snprintf(code, sizeof code,
                       "texts = []\n"
                       "for start in (before, _thread.start_new_thread):\n"
                       "    try: start(*%s)\n"
                       "    except TypeError as error: texts.append(str(error))\n"
                       "assert len(texts) == 2 and texts[0] == texts[1], texts",
                       wrong[i]);
        cr_expect(py_exec(code), "%s", wrong[i]);
        PyErr_Clear();
    }
}

Test(threads, a_thread_speaks_in_its_starters_cell_and_so_do_its_own_threads)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_exec("go, gone = threading.Event(), []\n"
                      "def inner(): go.wait(); gone.append(say())\n"
                      "def outer(): t = threading.Thread(target=inner); t.start(); t.join()\n"
                      "thread = threading.Thread(target=outer)\n"
                      "context.run(thread.start)"));
    (void)py_speaker_begin(&port, 2, NULL, false);
    cr_assert(py_exec("go.set(); thread.join(); gone.append(context.run(say))"));
    expect_true("gone == [1, 2]");
}

Test(threads, an_exception_in_one_shows_the_users_function)
{
    cr_assert(py_exec("seen, done = [], _thread.allocate_lock()\n"
                      "done.acquire()\n"
                      "def hook(info): seen.append((info.err_msg, repr(info.object),"
                      " info.exc_type)); done.release()\n"
                      "sys.unraisablehook = hook\n"
                      "def broken(): 1 / 0\n"
                      "_thread.start_new_thread(broken, ())\n"
                      "done.acquire()"));
    expect_true("seen[0][2] is ZeroDivisionError");
    expect_true("'function broken' in seen[0][1] or 'function broken' in (seen[0][0] or '')");
}
