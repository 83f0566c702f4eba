/*
 * The request loop of `einkorn frames`: see frames_loop.h. SIGINT is swallowed
 * from the first moment on where no cell runs. What nobody can be answered for
 * any more, a channel that is lost, ends the worker. Worker, main thread.
 */

#include "bridge/frames_loop.h"

#include <stdlib.h>
#include <unistd.h>

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
#include "bridge/frames_requests.h"
#include "bridge/frames_stream.h"
#include "bridge/frames_write.h"
#include "bridge/gate.h"
#include "bridge/guards.h"
#include "bridge/link.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_read.h"
#include "bridge/xalloc.h"

/* ---- the loop ------------------------------------------------------------------------------ */

/*
 * Raised by a handler of the user's while no cell runs: that has nothing to end. Nor has a lack
 * of memory for what has come: it is still there when it is read again.
 */
static void py_drop_idle_exception(void)
{
    if (PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        py_wait_for_memory();
    } else if (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
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
        error = kind == POST_OBJECT   ? py_frames_serve(request)
                : kind == POST_UNREAD ? py_frames_refuse_unread(request)
                                      : py_frames_refuse_line();
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
    bool is_cwd = first_b != NULL && PyUnicode_Check(first_b) && PyUnicode_GetLength(first_b) == 0;
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

/* A cell that ends the process by a fault leaves all Python stacks on stderr, where the host keeps
 * what came last. */
static int py_watch_faults(void)
{
    PyObject *module = PyImport_ImportModule("faulthandler");
    PyObject *enabled =
        module != NULL ? PyObject_CallMethod(module, "enable", "ii", STDERR_FILENO, 1) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(enabled);
    return enabled != NULL ? 0 : -1;
}

static int py_start(PyObject *module, const char *library)
{
    static const struct link_fds no_door = {-1, -1, -1, {-1, -1}, -1};
    const char *mode = getenv("OPENAI4S_KERNEL_MODE");
    mode = mode != NULL ? mode : "repl";
    forked_init(&no_door);
    (void)files_read_init(library); /* without a current directory no file is below it */
    if (py_compat_init() != 0 || py_frames_names_init() != 0 || py_gate_open_single() != 0 ||
        py_leave_cwd_out() != 0 || py_open_channel() != 0 || py_watch_faults() != 0 ||
        py_frames_write_init() != 0 || py_host_call_init() != 0 || py_frames_stream_init() != 0 ||
        py_replace_api(module) != 0 || py_frames_half_load(library) != 0 ||
        py_guards_init(frames_hook_b(FRAMES_FIGURES), frames_hook_b(FRAMES_REPORT_CHANGES)) != 0 ||
        py_frames_cell_init(mode) != 0 || py_post_init() != 0) {
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
