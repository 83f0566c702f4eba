/*
 * The request loop: waits, looks the message type up, calls its handler. A
 * handler answers its request exactly once. Contents were checked by the kernel
 * process; what is missing or of another kind here takes its default. Between
 * requests the Python half may run its event loop. Worker, main thread.
 */

#include "bridge/loop.h"

#include <errno.h>
#include <string.h>

#include "bridge/answer.h"
#include "bridge/cell.h"
#include "bridge/forked.h"
#include "bridge/gate.h"
#include "bridge/half.h"
#include "bridge/json_text.h"
#include "bridge/port_link.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_read.h"
#include "bridge/xalloc.h"

static uint64_t last_comm; /* number of the last LINK_COMM that was taken up */

/* Parts of a LINK_SHELL request. */
enum { PART_TYPE, PART_HEADER, PART_METADATA, PART_CONTENT };

static bool flag(struct slice content, const char *name, bool otherwise)
{
    bool value = otherwise;
    (void)json_object_get_bool(content, name, otherwise, &value);
    return value;
}

/* Messaging spec, "Execute". */
static int py_execute(const struct link_request *request, struct slice content)
{
    bool silent = flag(content, "silent", false);
    struct cell cell = {
        .port = &port_link,
        .request = request->number,
        .message = {request->parts.part[PART_HEADER], request->parts.part[PART_METADATA], content},
        .count = request->count,
        .silent = silent,
        .store = !silent && flag(content, "store_history", true),
        .allow_stdin = flag(content, "allow_stdin", false),
    };
    struct slice raw = slice_of("\"\"");
    (void)json_object_get_kind(content, "code", JSON_STRING, &raw);
    cell.code = py_json_text(raw);
    if (cell.code != NULL &&
        json_object_get_kind(content, "user_expressions", JSON_OBJECT, &raw) == 0) {
        cell.expressions = py_json_texts(raw);
    }
    int error = PyErr_Occurred() == NULL ? py_cell_run(&cell) : -1;
    Py_XDECREF(cell.code);
    Py_XDECREF(cell.expressions);
    return error;
}

static int py_refuse(const struct link_request *request, const char *ename, struct slice why)
{
    struct buffer content = BUFFER_INIT;
    buffer_printf(&content, "{\"status\":\"error\",\"ename\":\"%s\",\"evalue\":", ename);
    json_put_string(&content, why);
    buffer_put_text(&content, ",\"traceback\":[]}");
    int error = port_link.py_done(request->number, buffer_slice(&content), slice_of("{}"), "error");
    buffer_release(&content);
    return error;
}

/* A type that no handler of ours serves. */
static int py_refuse_type(const struct link_request *request, struct slice type)
{
    struct buffer why = BUFFER_INIT;
    buffer_put_text(&why, "the worker does not serve ");
    buffer_put_slice(&why, type);
    int error = py_refuse(request, "NotImplementedError", buffer_slice(&why));
    buffer_release(&why);
    return error;
}

/* A large request that there was no fd or no memory for. Comm messages have no reply: said aloud.
 */
static int py_refuse_lost(const struct link_request *request)
{
    struct buffer why = BUFFER_INIT;
    buffer_printf(&why, "[Errno %d] a large request cannot be received: %s", -request->error,
                  strerror(-request->error));
    const size_t n = why.n;
    buffer_put_char(&why, '\n');
    (void)port_link.py_stream(request->number, PORT_STDERR, buffer_slice(&why));
    PyErr_Clear();
    int error = py_refuse(request, "OSError", (struct slice){why.p, n});
    buffer_release(&why);
    return error;
}

static const struct {
    const char *type;
    int (*py_handle)(const struct link_request *request, struct slice content);
} handlers[] = {
    {"execute_request", py_execute},
};

static int py_dispatch(const struct link_request *request)
{
    if (request->error != 0) {
        return py_refuse_lost(request);
    }
    const struct link_parts *parts = &request->parts;
    struct slice type = parts->count > PART_TYPE ? parts->part[PART_TYPE] : slice_of("");
    struct slice content = parts->count > PART_CONTENT ? parts->part[PART_CONTENT] : slice_of("{}");
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (slice_is(type, handlers[i].type)) {
            return handlers[i].py_handle(request, content);
        }
    }
    int answered = py_answer(&port_link, request);
    return answered != 0 ? (answered > 0 ? 0 : -1) : py_refuse_type(request, type);
}

/* Raised by a signal's handler while no cell runs: an interrupt has nothing to interrupt. */
static void py_drop_idle_exception(void)
{
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
    } else if (PyErr_Occurred() != NULL) {
        PyErr_WriteUnraisable(NULL);
    }
}

/* Lets the event loop turn until there is something to read. -> 1: look, 0: it has no work. */
static int py_idle(void)
{
    gate_idle(true);
    PyObject *answer = PyObject_CallFunction(half_hook_b(HOOK_IDLE), "i", port_link_fd());
    gate_idle(false);
    int look = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (look < 0) {
        py_drop_idle_exception();
        return 0;
    }
    return look;
}

/* What came may have been for another thread: then the loop goes on. */
static int py_next(struct link_request **ret_request)
{
    int error;
    do {
        error = port_link_poll(LINK_NEXT, ret_request);
    } while (error == -EAGAIN && py_idle() > 0);
    if (error != -EAGAIN) {
        return error;
    }
    error = py_port_link_wait(LINK_NEXT, ret_request);
    if (error == LINK_EINTERRUPTED) {
        py_drop_idle_exception();
    }
    return error;
}

/* The kernel ends, and has answered for this comm message. */
static bool is_refused(const struct link_request *request)
{
    return request->kind == LINK_COMM &&
           request->number <= atomic_load(&port_link_page()->comm_refused);
}

/* A comm message that came while something else ran: now the word is its. */
static int py_begin(const struct link_request *request)
{
    if (request->kind != LINK_COMM) {
        return 0;
    }
    last_comm = request->number;
    return port_link.py_begin(request->number);
}

static int py_serve(struct link_request *request)
{
    xalloc_reserve();
    int error = py_gate_request(request->number);
    if (error == 0) {
        error = py_begin(request);
    }
    if (error == 0) {
        error = py_dispatch(request);
    }
    (void)py_gate_request(0);
    if (PyErr_CheckSignals() != 0 && error == 0) {
        py_drop_idle_exception();
    }
    link_request_destroy(&request);
    return error;
}

/* ---- comm messages while a request runs ------------------------------------------ */

static int py_serve_within(struct link_request *request)
{
    if (is_refused(request)) {
        link_request_destroy(&request);
        return 0;
    }
    int error = py_begin(request);
    if (error == 0 && request->error != 0) {
        error = py_refuse_lost(request);
    } else if (error == 0) {
        int answered = py_answer_within(&port_link, request);
        error = answered > 0    ? 0
                : answered == 0 ? py_refuse_type(request, request->parts.part[PART_TYPE])
                                : -1;
    }
    link_request_destroy(&request);
    return error;
}

/* The next one, for which `only_one` does not wait. -> as link_reader_wait. */
static int py_next_comm(bool only_one, uint64_t until, struct link_request **ret_request)
{
    if (!only_one && last_comm >= until) {
        return -EAGAIN;
    }
    if (port_link_has_ended()) { /* the kernel ends, and has answered for them */
        return LINK_ECLOSED;
    }
    return only_one ? port_link_poll(LINK_COMM, ret_request)
                    : py_port_link_wait(LINK_COMM, ret_request);
}

int py_loop_comms(bool only_one, size_t *ret_handled)
{
    static unsigned depth;
    uint64_t until = atomic_load(&port_link_page()->comm_last);
    struct link_request *request = NULL;
    size_t handled = 0;
    int error = depth < LOOP_WITHIN_MAX ? 0 : -EAGAIN;
    depth++;
    while (error == 0) {
        error = py_next_comm(only_one, until, &request);
        if (error == 0) {
            handled++;
            error = py_serve_within(request) != 0 ? LINK_EINTERRUPTED : only_one ? -EAGAIN : 0;
        }
    }
    depth--;
    if (error == LINK_EINTERRUPTED) {
        return -1;
    }
    *ret_handled = handled;
    return error == -EAGAIN ? 1 : 0;
}

int py_loop_run(void)
{
    for (;;) {
        struct link_request *request = NULL;
        int error = py_next(&request);
        if (forked_is_child()) {
            py_forked_end(NULL, NULL);
        }
        if (error == 0 && request->kind == LINK_COMM &&
            (is_refused(request) || port_link_has_ended())) {
            link_request_destroy(&request);
            continue;
        }
        if (error == LINK_ECLOSED) {
            return 0;
        }
        if (error == 0 && py_serve(request) != 0) {
            return -1;
        }
        if (error != 0 && error != LINK_EINTERRUPTED) {
            PyErr_Format(PyExc_RuntimeError, "einkorn: the way to the kernel is broken: %s%s",
                         error <= LINK_ECORRUPT ? "bad data" : strerror(-error),
                         error == -EBADF ? ", somebody closed its descriptors" : "");
            return -1;
        }
    }
}
