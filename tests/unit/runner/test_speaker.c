/*
 * bridge/speaker.c, stream_say.c and streams.c behind a port that only remembers: what goes
 * out at once, what is kept for the end, and whose text it is.
 */

#include "bridge/speaker.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bridge/stream_say.h"
#include "bridge/streams.h"
#include "bridge/threads.h"
#include "bridge/utf8.h"
#include "interpreter.h"

static struct {
    struct buffer text[PORT_STREAMS];
    size_t longest; /* characters of the longest piece */
    uint64_t request;
    bool fails;
} heard;

static int py_hear(uint64_t request, int stream, struct slice text)
{
    size_t characters = utf8_count(text);
    if (heard.fails) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        return -1;
    }
    heard.request = request;
    heard.longest = characters > heard.longest ? characters : heard.longest;
    buffer_put_slice(&heard.text[stream], text);
    return 0;
}

static const struct port port = {.py_stream = py_hear};

enum { LIMIT = 100 };

static void start(void)
{
    interpreter_start();
    cr_assert(py_speaker_init(&port, LIMIT) == 0);
    cr_assert(py_streams_init() == 0);
    cr_assert(py_threads_init() == 0);
    cr_assert(PyModule_AddObjectRef(PyImport_AddModule("__main__"), "cell", speaker_var_b()) == 0);
    cr_assert(
        PyModule_AddObjectRef(PyImport_AddModule("__main__"), "context", speaker_context_b()) == 0);
}

static void stop(void)
{
    buffer_release(&heard.text[PORT_STDOUT]);
    buffer_release(&heard.text[PORT_STDERR]);
}

TestSuite(speaker, .init = start, .fini = stop);

static bool out_is(const char *text)
{
    return slice_is(buffer_slice(&heard.text[PORT_STDOUT]), text);
}

/* Runs an expression as cells are run. */
static bool py_in_cell(const char *code)
{
    PyObject *text = PyUnicode_FromString(code);
    PyObject *function = py_eval("lambda code: context.run(exec, code, globals())");
    PyObject *done = PyObject_CallFunctionObjArgs(function, text, NULL);
    Py_DECREF(text);
    Py_DECREF(function);
    Py_XDECREF(done);
    return done != NULL;
}

Test(speaker, text_within_the_limit_goes_out_at_once)
{
    struct speaker *speaker = py_speaker_begin(&port, 7, NULL, false);
    cr_assert(py_in_cell("print('a', 1)"));
    cr_expect(out_is("a 1\n"));
    cr_expect(eq(u64, heard.request, 7));
    cr_expect(eq(u64, speaker->stream[PORT_STDOUT].spoken.characters, 4));
}

Test(speaker, over_the_limit_the_last_characters_follow_at_the_end)
{
    struct speaker *speaker = py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("full = ''.join(f'{n}\\xe9' for n in range(50_000))\n"
                         "for n in range(50_000): print(n, end='\\xe9')"));
    cr_expect(eq(u64, utf8_count(buffer_slice(&heard.text[PORT_STDOUT])), LIMIT));
    cr_assert(eq(int, py_speaker_end(speaker), 0));
    PyObject *expected = py_eval("full[:100] + full[-20_000:]");
    PyObject *got = py_text_from(buffer_slice(&heard.text[PORT_STDOUT]));
    cr_expect(eq(int, PyUnicode_Compare(expected, got), 0));
    Py_DECREF(expected);
    Py_DECREF(got);
}

Test(speaker, one_long_str_is_cut_the_same_way)
{
    struct speaker *speaker = py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("full = ''.join(f'{n}\\u20ac' for n in range(50_000))\n"
                         "import sys; sys.stdout.write(full)"));
    cr_assert(eq(int, py_speaker_end(speaker), 0));
    PyObject *expected = py_eval("full[:100] + full[-20_000:]");
    PyObject *got = py_text_from(buffer_slice(&heard.text[PORT_STDOUT]));
    cr_expect(eq(int, PyUnicode_Compare(expected, got), 0));
    Py_DECREF(expected);
    Py_DECREF(got);
}

Test(speaker, bytes_are_counted_in_characters_and_decoded_over_writes)
{
    struct speaker *speaker = py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("import sys; raw = sys.stdout.buffer\n"
                         "for byte in ('\\u20ac' * 99).encode(): raw.write(bytes([byte]))\n"
                         "raw.write(b'yz')"));
    cr_expect(eq(u64, speaker->stream[PORT_STDOUT].spoken.characters, LIMIT));
    cr_expect(eq(u64, heard.text[PORT_STDOUT].n, 99 * 3 + 1));
    cr_assert(eq(int, py_speaker_end(speaker), 0));
    cr_expect(eq(u64, heard.text[PORT_STDOUT].n, 99 * 3 + 2));
}

Test(speaker, the_streams_have_a_limit_each)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("import sys\nprint('o' * 500)\nprint('e' * 500, file=sys.stderr)"));
    cr_expect(eq(u64, heard.text[PORT_STDOUT].n, LIMIT));
    cr_expect(eq(u64, heard.text[PORT_STDERR].n, LIMIT));
}

Test(speaker, text_that_was_not_heard_does_not_count)
{
    struct speaker *speaker = py_speaker_begin(&port, 1, NULL, false);
    heard.fails = true;
    cr_assert(not(py_in_cell("print('lost')")));
    PyErr_Clear();
    cr_expect(eq(u64, speaker->stream[PORT_STDOUT].spoken.characters, 0));
}

Test(speaker, lone_surrogates_lose_nothing_around_them)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("print('a\\ud800b', end='\\udfff')"));
    cr_expect(out_is("a\xEF\xBF\xBD"
                     "b\xEF\xBF\xBD"));
}

Test(speaker, half_a_character_at_the_end_of_a_cell_becomes_one_replacement)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("import sys; sys.stdout.buffer.write(b'a\\xe2\\x82')"));
    cr_expect(out_is("a"));
    cr_assert(eq(int, py_streams_finish(), 0));
    cr_expect(out_is("a\xEF\xBF\xBD"));
}

Test(speaker, a_thread_speaks_in_the_cell_that_started_it)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_assert(py_in_cell("import threading\n"
                         "go = threading.Event()\n"
                         "thread = threading.Thread(target=lambda: (go.wait(), print('late')))\n"
                         "thread.start()"));
    (void)py_speaker_begin(&port, 2, NULL, false);
    cr_assert(py_in_cell("go.set(); thread.join()"));
    cr_expect(out_is("late\n"));
    cr_expect(eq(u64, heard.request, 1));
}

Test(speaker, code_without_a_cell_speaks_in_the_last_one)
{
    (void)py_speaker_begin(&port, 5, NULL, false);
    cr_assert(py_exec("print('outside')"));
    cr_expect(eq(u64, heard.request, 5));
    cr_assert(py_exec("cell.set('nonsense'); print('still')"));
    cr_expect(eq(u64, heard.request, 5));
}

Test(speaker, the_streams_are_text_streams)
{
    (void)py_speaker_begin(&port, 1, NULL, false);
    cr_expect(py_in_cell(
        "import io, sys\n"
        "out, err = sys.stdout, sys.stderr\n"
        "assert isinstance(out, io.TextIOBase) and isinstance(out.buffer, io.BufferedIOBase)\n"
        "assert (out.fileno(), err.fileno(), out.isatty()) == (1, 2, False)\n"
        "assert (out.encoding, out.errors, out.newlines) == ('UTF-8', 'replace', None)\n"
        "assert (out.name, err.name, out.mode) == ('<stdout>', '<stderr>', 'w')\n"
        "assert out.writable() and not out.readable() and not out.seekable()\n"
        "assert out.line_buffering and out.write_through\n"
        "assert out.write('\\xe4b') == 2 and out.buffer.write(b'abc') == 3\n"
        "out.writelines(['x', 'y']); out.flush(); out.reconfigure(encoding='latin-1')\n"
        "out.close(); assert not out.closed; out.write('after')\n"
        "with out: pass\n"
        "for call in (out.read, out.readline, out.detach, out.tell, out.buffer.read):\n"
        "    try: call()\n"
        "    except io.UnsupportedOperation: pass\n"
        "    else: raise AssertionError(call)\n"
        "for wrong, where in ((1, out), (b'', out), ('', out.buffer)):\n"
        "    try: where.write(wrong)\n"
        "    except TypeError as error: message = str(error)\n"
        "    else: raise AssertionError(wrong)\n"
        "try: type(out)()\n"
        "except TypeError: pass\n"
        "else: raise AssertionError('a third stream')\n"));
}
