/*
 * Fuzz target: contents of requests as the worker reads them, and its answers.
 *
 * The first byte chooses the type; then come header, metadata, content and the
 * buffers, each after its length in two bytes, low byte first. What the kernel
 * process would not let through is left out. The functions of the Python half
 * are stand-ins that hand back what they were called with, so the answer tells
 * how the content was read: it must be JSON, and say the same code.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "bridge/answer.h"
#include "bridge/check.h"
#include "bridge/gate.h"
#include "bridge/json_text.h"
#include "bridge/link.h"
#include "bridge/py_compat.h"
#include "bridge/speaker.h"
#include "bridge/streams.h"
#include "bridge/threads.h"
#include "bridge/utf8.h"
#include "kernel/wire.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char stand_in[] =
    "import sys, types\n"
    "hooks = types.ModuleType('einkorn.hooks')\n"
    "def complete(code, cursor_pos): return {'code': code, 'cursor_pos': cursor_pos}\n"
    "def inspect(code, cursor_pos, level): return {'code': code, 'list': [cursor_pos, level]}\n"
    "def is_complete(code): return {'code': code}\n"
    "def comm(kind, message):\n"
    "    for view in message.pop('buffers'): message.setdefault('bytes', []).append(bytes(view))\n"
    "    return {'kind': kind, 'message': message}\n"
    "hooks.__dict__.update(complete=complete, inspect=inspect, is_complete=is_complete,\n"
    "                      comm=comm)\n"
    "sys.modules['einkorn'] = types.ModuleType('einkorn')\n"
    "sys.modules['einkorn.hooks'] = hooks\n";

static const char *const types[] = {
    "complete_request", "inspect_request", "is_complete_request", "comm_open",
    "comm_msg",         "comm_close",      "frobnicate_request",
};
enum { TYPES = sizeof types / sizeof types[0], PARTS_MAX = 8 };

static struct link_request asked_request = {.kind = LINK_SHELL, .number = 1}; /* large */
static unsigned answers;

static int py_hear(uint64_t request, int stream, struct slice text)
{
    (void)request;
    (void)stream;
    CHECK(utf8_valid(text) == text.n);
    return 0;
}

static int py_done(uint64_t request, struct slice content, struct slice metadata,
                   const char *status)
{
    enum json_kind kind;
    struct slice asked, told;
    (void)request;
    (void)status;
    answers++;
    CHECK(json_check(content, JSON_DEPTH_LIMIT, &kind) == 0 && kind == JSON_OBJECT);
    CHECK(slice_is(metadata, "{}"));
    if (json_object_get_kind(content, "code", JSON_STRING, &told) == 0 &&
        json_object_get_kind(asked_request.parts.part[3], "code", JSON_STRING, &asked) == 0) {
        struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
        json_string_decode(asked, &before);
        json_string_decode(told, &after);
        CHECK(utf8_valid(buffer_slice(&before)) < before.n ||
              slice_equal(buffer_slice(&before), buffer_slice(&after)));
        buffer_release(&before);
        buffer_release(&after);
    }
    return 0;
}

static const struct port port = {.py_stream = py_hear, .py_done = py_done};

static void start(void)
{
    static struct link_page page;
    Py_InitializeEx(1);
    CHECK(py_compat_init() == 0 && py_speaker_init(&port, 0) == 0 && py_streams_init() == 0);
    CHECK(py_threads_init() == 0 && py_gate_open(&page, getppid()) == 0);
    PyObject *code = Py_CompileString(stand_in, "<stand-in>", Py_file_input);
    PyObject *names_b = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *done = code != NULL ? PyEval_EvalCode(code, names_b, names_b) : NULL;
    CHECK(done != NULL);
    Py_DECREF(code);
    Py_DECREF(done);
}

/* What the kernel process promises of header, metadata and content. */
static bool is_passed(struct slice text)
{
    enum json_kind kind;
    return json_check(text, WIRE_DEPTH_MAX, &kind) == 0 && kind == JSON_OBJECT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool started;
    if (!started) {
        start();
        started = true;
    }
    if (n == 0) {
        return 0;
    }
    struct slice input = {data + 1, n - 1};
    asked_request.parts.part[0] = slice_of(types[data[0] % TYPES]);
    for (asked_request.parts.count = 1; asked_request.parts.count < PARTS_MAX && input.n > 0;
         asked_request.parts.count++) {
        asked_request.parts.part[asked_request.parts.count] = take_text(&input);
    }
    for (size_t i = 1; i < 4; i++) {
        if (i >= asked_request.parts.count || !is_passed(asked_request.parts.part[i])) {
            return 0;
        }
    }
    unsigned before = answers;
    CHECK(py_gate_request(1) == 0);
    int answered = py_answer(&port, &asked_request);
    CHECK(py_gate_request(0) == 0);
    CHECK(answered == (slice_is(asked_request.parts.part[0], "frobnicate_request") ? 0 : 1));
    CHECK(answers - before == (unsigned)answered);
    CHECK(PyErr_Occurred() == NULL);
    return 0;
}
