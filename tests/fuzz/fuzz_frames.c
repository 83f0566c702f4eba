/*
 * Fuzz target: lines from the host, as the worker of `einkorn frames` reads and
 * sorts them.
 *
 * The first byte says whether a host call is under way. Every line that is not blank must reach one
 * of the two that wait, once; what is JSON must be told from what is not, as the scanner of the
 * other process tells it, which is another one.
 */

#include "bridge/frames_channel.h"
#include "bridge/frames_post.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/frames_names.h"
#include "bridge/json_text.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PIPE_SIZE = 1 << 20 };

static const char start_code[] = "import sys\n"
                                 "sys.path.insert(0, '" EINKORN_PYTHON_HALF "/einkorn/frames')\n"
                                 "import requests\n";

static int way; /* the host's end of fd 0 */
static unsigned long inputs;

static void start(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0 && fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE);
    CHECK(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    (void)close(ends[0]);
    way = ends[1];
    Py_InitializeEx(0);
    CHECK(py_compat_init() == 0 && py_channel_open() == 0);
    PyObject *main_b = PyImport_AddModule("__main__");
    PyObject *names_b = PyModule_GetDict(main_b);
    PyObject *code = Py_CompileString(start_code, "<fuzz>", Py_file_input);
    PyObject *done = code != NULL ? PyEval_EvalCode(code, names_b, names_b) : NULL;
    PyObject *module_b = PyDict_GetItemString(names_b, "requests");
    PyObject *scan = module_b != NULL ? PyObject_GetAttrString(module_b, "scan") : NULL;
    CHECK(done != NULL && scan != NULL && py_frames_names_init() == 0 && py_post_init() == 0);
    py_json_read_init(scan);
    Py_DECREF(code);
    Py_DECREF(done);
}

static void say(const void *p, size_t n)
{
    CHECK(write(way, p, n) == (ssize_t)n);
}

/* A line of ours behind the input's: for the loop, or for the call. */
static void say_end(const char *members)
{
    char line[128];
    int n = snprintf(line, sizeof line, "{%s,\"end\":%lu}\n", members, inputs);
    say(line, (size_t)n);
}

static bool is_end(PyObject *object)
{
    PyObject *end_b = object != NULL ? PyDict_GetItemString(object, "end") : NULL;
    return end_b != NULL && PyLong_CheckExact(end_b) &&
           PyLong_AsUnsignedLong(end_b) == inputs; /* may be too large */
}

/* How many of each kind. */
struct counts {
    size_t json;
    size_t other;
};

static void count_piece(int kind, struct counts *counts)
{
    CHECK(kind == POST_BAD || kind == POST_NO_OBJECT || kind == POST_OBJECT);
    *(kind == POST_BAD ? &counts->other : &counts->json) += 1;
}

/* Everything up to our own line. */
static void drain(int (*py_take)(PyObject **ret_object), struct counts *counts)
{
    bool ended = false;
    while (!ended) {
        PyObject *object = NULL;
        int kind = py_take(&object);
        ended = is_end(object);
        PyErr_Clear();
        if (!ended) {
            count_piece(kind, counts);
        }
        Py_XDECREF(object);
    }
}

static bool is_blank(struct slice line)
{
    size_t i = 0;
    while (i < line.n && (line.p[i] == ' ' || (line.p[i] >= '\t' && line.p[i] <= '\r'))) {
        i++;
    }
    return i == line.n;
}

/* What the scanner in C says; it is stricter: no NaN, no surrogates as bytes, a depth. */
static void expect_line(struct slice line, struct counts *least, size_t *lines)
{
    enum json_kind kind;
    if (!is_blank(line)) {
        *lines += 1;
        least->json += json_check(line, 100, &kind) == 0 && line.n < 4000 ? 1 : 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct counts least = {0, 0};
    struct counts counts = {0, 0};
    size_t lines = 0;
    if (inputs++ == 0) {
        start();
    }
    if (n < 1) {
        return 0;
    }
    bool calls = (data[0] & 1) != 0;
    struct slice rest = {data + 1, n - 1};
    say(rest.p, rest.n);
    say("\n", 1);
    while (rest.n > 0) {
        const uint8_t *end = memchr(rest.p, '\n', rest.n);
        size_t length = end != NULL ? (size_t)(end - rest.p) : rest.n;
        expect_line((struct slice){rest.p, length}, &least, &lines);
        size_t skip = length + (end != NULL ? 1 : 0);
        rest = (struct slice){rest.p + skip, rest.n - skip};
    }
    if (calls) {
        PyObject *id = PyUnicode_FromString("hc");
        CHECK(id != NULL && py_post_expect(id) == 0);
        say_end("\"id\":\"hc\",\"type\":\"host_response\"");
        drain(py_post_answer, &counts);
        py_post_forget();
        Py_DECREF(id);
    }
    say_end("\"type\":\"shutdown\"");
    drain(py_post_next, &counts);
    CHECK(counts.json + counts.other == lines);
    CHECK(counts.json >= least.json);
    return 0;
}
