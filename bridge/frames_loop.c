/*
 * The request loop of `einkorn frames`: see frames_loop.h. SIGINT is swallowed
 * from the first moment on where no cell runs. Every request is answered,
 * whatever goes wrong here with it; what nobody can be answered for any more, a
 * channel that is lost, ends the worker. Worker, main thread.
 */

#include "bridge/frames_loop.h"

#include <stdlib.h>

#include "bridge/api.h"
#include "bridge/files_read.h"
#include "bridge/forked.h"
#include "bridge/frames_api.h"
#include "bridge/frames_cell.h"
#include "bridge/frames_channel.h"
#include "bridge/frames_half.h"
#include "bridge/frames_host_call.h"
#include "bridge/frames_names.h"
#include "bridge/frames_post.h"
#include "bridge/frames_remote.h"
#include "bridge/frames_stream.h"
#include "bridge/frames_write.h"
#include "bridge/gate.h"
#include "bridge/link.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_read.h"
#include "bridge/variables.h"
#include "bridge/xalloc.h"

enum { INSPECT_MAX = 500, INSPECT_USUAL = 200 };

/* A member of the request, or what it is where there is none. New. */
static PyObject *py_member(PyObject *request, enum frames_name name, const char *otherwise)
{
    PyObject *value_b = request != NULL ? py_named_b(request, name) : NULL;
    return value_b != NULL ? Py_NewRef(value_b) : PyUnicode_FromString(otherwise);
}

static int py_send(PyObject *frame)
{
    int error = frame != NULL ? py_frame_write(frame) : -1;
    Py_XDECREF(frame);
    return error;
}

/* ---- requests --------------------------------------------------------------------------- */

static int py_refuse(PyObject *id, const char *text)
{
    PyObject *why = PyUnicode_FromString(text);
    int error = py_frames_cell_refuse(id, why);
    Py_XDECREF(why);
    return error;
}

static int py_execute(PyObject *request, PyObject *id)
{
    PyObject *code = py_member(request, NAME_CODE, "");
    PyObject *origin = py_member(request, NAME_ORIGIN, "agent");
    int error = -1;
    if (code != NULL && origin != NULL) {
        error = PyUnicode_Check(code) ? py_frames_cell_run(code, id, origin)
                                      : py_refuse(id, "invalid request: code is not a string");
    }
    Py_XDECREF(code);
    Py_XDECREF(origin);
    return error;
}

static int py_refuse_inspection(PyObject *id, long limit, const char *why)
{
    return py_send(Py_BuildValue("{s:s,s:O,s:[],s:O,s:l,s:s}", "type", "variables_response", "id",
                                 id, "variables", "truncated", Py_False, "limit", limit, "error",
                                 why));
}

static int py_inspect(PyObject *request, PyObject *id)
{
    PyObject *limit_b = PyDict_GetItemString(request, "limit");
    bool is_number = limit_b == NULL || PyLong_CheckExact(limit_b);
    long limit = limit_b == NULL ? INSPECT_USUAL : is_number ? PyLong_AsLong(limit_b) : 0;
    PyErr_Clear(); /* beyond a long */
    if (limit < 1 || limit > INSPECT_MAX) {
        return py_refuse_inspection(id, 0, "invalid variable inspection limit");
    }
    PyObject *found = py_variables(frames_namespace_b(), limit);
    PyObject *frame = Py_BuildValue("{s:s,s:O}", "type", "variables_response", "id", id);
    int error = found != NULL && frame != NULL ? PyDict_Update(frame, found) : -1;
    if (error == 0) {
        error = py_frame_write(frame);
    } else {
        PyErr_Clear();
        error = py_refuse_inspection(id, limit, "variable inspection failed closed");
    }
    Py_XDECREF(found);
    Py_XDECREF(frame);
    return error;
}

/* A type that is not here is ignored: an answer that came too late, or another version's. */
static const struct {
    const char *type;
    int (*py_serve)(PyObject *request, PyObject *id);
} handlers[] = {
    {"execute", py_execute},
    {"inspect_variables", py_inspect},
};

static bool py_is(PyObject *text, const char *wanted)
{
    return PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, wanted) == 0;
}

static int py_dispatch(PyObject *request, PyObject *type, PyObject *id)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (py_is(type, handlers[i].type)) {
            return handlers[i].py_serve(request, id);
        }
    }
    return 0;
}

/* Something of ours raised: the host must not wait for an answer that never comes. */
static int py_answer_for_failure(PyObject *id)
{
    PyObject *problem = py_exception_take();
    PyObject *name = PyType_GetName(Py_TYPE(problem));
    PyObject *why =
        name != NULL
            ? PyUnicode_FromFormat("einkorn could not serve this request: %U: %S", name, problem)
            : NULL;
    int error = py_frames_cell_refuse(id, why);
    Py_XDECREF(problem);
    Py_XDECREF(name);
    Py_XDECREF(why);
    return error;
}

/* -> 0, 1: that was the last one, -1. */
static int py_serve(PyObject *request)
{
    PyObject *type = py_member(request, NAME_TYPE, "execute");
    PyObject *id = py_member(request, NAME_ID, "unknown");
    int error = type != NULL && id != NULL ? 0 : -1;
    if (error == 0 && py_is(type, "shutdown")) {
        error = 1;
    } else if (error == 0) {
        error = py_dispatch(request, type, id);
        if (error != 0) {
            error = py_answer_for_failure(id);
        }
    }
    Py_XDECREF(type);
    Py_XDECREF(id);
    return error;
}

/* It has an id that nobody knows, and no cell. */
static int py_refuse_line(void)
{
    return py_send(Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:O,s:{s:O,s:O},s:{}}", "type", "response",
                                 "id", "unknown", "stdout", "", "stderr", "", "error",
                                 "invalid JSON request", "interrupted", Py_False, "trace",
                                 "error_lineno", Py_None, "error_call", Py_None, "usage"));
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* Raised by a handler of the user's while no cell runs: that has nothing to end. */
static void py_drop_idle_exception(void)
{
    if (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
    } else {
        PyErr_WriteUnraisable(NULL);
    }
}

/* -> as py_post_next, but without what signals' handlers raise. */
static int py_next(PyObject **ret_request)
{
    int kind;
    do {
        kind = py_post_next(ret_request);
        if (forked_is_child()) {
            py_forked_end(NULL, NULL); /* of a thread's or handler's fork */
        }
        if (kind < 0 && !channel_is_lost()) {
            py_drop_idle_exception();
        }
    } while (kind < 0 && !channel_is_lost());
    return kind;
}

static int py_loop(void)
{
    int error = 0;
    while (error == 0) {
        PyObject *request = NULL;
        int kind = py_next(&request);
        if (kind < 0 || kind == POST_END) {
            return kind < 0 ? -1 : 0;
        }
        xalloc_reserve();
        error = kind == POST_OBJECT ? py_serve(request) : py_refuse_line();
        Py_XDECREF(request);
    }
    return error > 0 ? 0 : -1;
}

/* ---- the start ------------------------------------------------------------------------------ */

/* -> 1: go on, 0: the host does not mean us, -1. */
static int py_shake_hands(void)
{
    PyObject *request = NULL;
    PyObject *frame_b = NULL;
    int accepted = 0;
    int kind = py_next(&request);
    if (kind < 0 || kind == POST_END || kind == POST_BAD) {
        return kind < 0 ? -1 : 0;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(frames_hook_b(FRAMES_HANDSHAKE),
                                                    request != NULL ? request : Py_None, NULL);
    int error = answer != NULL && PyArg_ParseTuple(answer, "pO", &accepted, &frame_b)
                    ? py_frame_write(frame_b)
                    : -1;
    Py_XDECREF(answer);
    Py_XDECREF(request);
    return error == 0 ? accepted : -1;
}

/* Those of a Jupyter kernel have nobody to talk to here. */
static int py_replace_api(PyObject *module)
{
    for (size_t i = 0; api_link_tables[i] != NULL; i++) {
        for (const PyMethodDef *method = api_link_tables[i]; method->ml_name != NULL; method++) {
            if (PyObject_SetAttrString(module, method->ml_name, NULL) != 0) {
                return -1;
            }
        }
    }
    PyObject *modules_b = PySys_GetObject("modules");
    int error = modules_b != NULL ? PyModule_AddFunctions(module, frames_api_methods) : -1;
    return error == 0 ? PyDict_SetItemString(modules_b, "_einkorn", module) : -1;
}

/* `python -c` puts the current directory first: whatever lies there must not be imported by us. */
static int py_leave_cwd_out(void)
{
    PyObject *path_b = PySys_GetObject("path");
    PyObject *first_b = path_b != NULL && PyList_Check(path_b) && PyList_Size(path_b) > 0
                            ? PyList_GetItem(path_b, 0)
                            : NULL;
    bool is_cwd = first_b != NULL && py_is(first_b, "");
    return is_cwd ? PyList_SetSlice(path_b, 0, 1, NULL) : 0;
}

static int py_open_channel(void)
{
    int fd = -1;
    if (py_frames_dial(&fd) != 0) {
        return -1;
    }
    return fd >= 0 ? py_channel_open_socket(fd) : py_channel_open();
}

static int py_start(PyObject *module, const char *library)
{
    static const struct link_fds no_door = {-1, -1, -1, {-1, -1}, -1};
    const char *mode = getenv("OPENAI4S_KERNEL_MODE");
    mode = mode != NULL ? mode : "repl";
    forked_init(&no_door);
    (void)files_read_init(library); /* without a current directory no file is below it */
    if (py_compat_init() != 0 || py_frames_names_init() != 0 || py_gate_open_single() != 0 ||
        py_leave_cwd_out() != 0 || py_open_channel() != 0 || py_frames_write_init() != 0 ||
        py_host_call_init() != 0 || py_frames_stream_init() != 0 || py_replace_api(module) != 0 ||
        py_frames_half_load(library) != 0 || py_frames_cell_init(mode) != 0 ||
        py_post_init() != 0) {
        return -1;
    }
    py_json_read_init(frames_hook_b(FRAMES_SCAN));
    PyObject *done =
        PyObject_CallFunction(frames_hook_b(FRAMES_START), "Os", frames_namespace_b(), mode);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static void py_finish(void)
{
    PyObject *done = PyObject_CallNoArgs(frames_hook_b(FRAMES_FINISH));
    if (done == NULL) {
        PyErr_WriteUnraisable(NULL);
    }
    Py_XDECREF(done);
}

int py_frames_run(PyObject *module, const char *library)
{
    int error = py_start(module, library);
    int accepted = error == 0 ? py_shake_hands() : -1;
    if (accepted > 0) {
        error = py_loop();
    }
    if (accepted < 0 || error != 0) {
        return -1;
    }
    py_finish();
    return 0;
}
