/*
 * The host-call transaction: see frames_host_call.h. The lock is the published
 * one, taken the way Python code takes it, so an interrupt ends the waiting. An
 * answer that comes after its call was given up belongs to nobody: whoever reads
 * it drops it (frames_post.c). Worker, any Python thread; owns the lock.
 */

#include "bridge/frames_host_call.h"

#include <time.h>

#include "bridge/forked.h"
#include "bridge/frames_half.h"
#include "bridge/frames_lock.h"
#include "bridge/frames_names.h"
#include "bridge/frames_post.h"
#include "bridge/frames_write.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_plain.h"

enum {
    DISCARD_MAX = 8,  /* lines for nobody that one call bears */
    USUAL_SIZE = 256, /* of a call */
};

static struct {
    struct frames_lock lock;
    unsigned long long count;
} calls;

int py_host_call_init(void)
{
    return py_frames_lock_init(&calls.lock, "_openai4s_host_call_lock");
}

/* What makes an artifact is told which cell does. */
static bool py_is_of_a_cell(PyObject *method)
{
    return py_text_is(method, "save_artifact") || py_text_is(method, "materialise_artifact");
}

/* The frame as text, as nearly all can be written. -> false: this one cannot. */
static bool py_put_plain_call(PyObject *call_id, PyObject *method, PyObject *args,
                              struct buffer *line)
{
    buffer_put_text(line, "{\"type\": \"host_call\", \"id\": ");
    bool is_plain = py_json_plain_put(line, call_id);
    buffer_put_text(line, ", \"method\": ");
    is_plain = is_plain && py_json_plain_put(line, method);
    buffer_put_text(line, ", \"args\": ");
    is_plain = is_plain && py_json_plain_put(line, args);
    buffer_put_char(line, '}');
    return is_plain;
}

/* The same by Python, which says what is wrong with it. -> 0, -1. */
static int py_put_any_call(PyObject *call_id, PyObject *method, PyObject *args, PyObject *cell_id,
                           struct buffer *line)
{
    return py_text_put(line, PyObject_CallFunctionObjArgs(frames_hook_b(FRAMES_CALL), call_id,
                                                          method, args, cell_id, NULL));
}

static int py_put_call(PyObject *call_id, PyObject *method, PyObject *args, PyObject *cell_id,
                       struct buffer *line)
{
    bool of_a_cell = py_is_of_a_cell(method);
    if (of_a_cell || !py_put_plain_call(call_id, method, args, line)) {
        buffer_clear(line);
        if (py_put_any_call(call_id, method, args, of_a_cell ? cell_id : Py_None, line) != 0) {
            return -1;
        }
    }
    if (line->n > FRAME_CALL_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "host call '%S' payload is %zu bytes, exceeding the 15MB wire cap (the host "
                     "rejects oversized frames)",
                     method, line->n);
        return -1;
    }
    return 0;
}

/* What an answer with our id says. -> 0: it is an acknowledgement, go on; else -1 or 1. */
static int py_read_answer(PyObject *method, PyObject *answer, PyObject **ret_data)
{
    PyObject *type_b = py_named_b(answer, NAME_TYPE);
    PyObject *error_b = py_named_b(answer, NAME_ERROR);
    PyObject *data_b = py_named_b(answer, NAME_DATA);
    if (py_text_is(type_b, "host_ack")) {
        return 0;
    }
    if (error_b != NULL && error_b != Py_None) {
        PyErr_Format(PyExc_RuntimeError, "host.%S error: %S", method, error_b);
        return -1;
    }
    *ret_data = Py_NewRef(data_b != NULL ? data_b : Py_None);
    return 1;
}

static bool py_has_id(PyObject *answer, PyObject *call_id)
{
    PyObject *id_b = py_named_b(answer, NAME_ID);
    return id_b != NULL && PyUnicode_Check(id_b) && PyUnicode_Compare(id_b, call_id) == 0;
}

static PyObject *py_wait(PyObject *call_id, PyObject *method)
{
    PyObject *data = NULL;
    int discarded = 0;
    int done = 0;
    while (done == 0) {
        PyObject *answer = NULL;
        int kind = py_post_answer(&answer);
        if (kind < 0) {
            return NULL;
        }
        if (kind == POST_END) {
            PyErr_SetString(PyExc_RuntimeError, "host channel closed during host_call");
            return NULL;
        }
        if (kind == POST_UNREAD) {
            (void)PyErr_NoMemory();
            done = -1;
        } else if (answer != NULL && py_has_id(answer, call_id)) {
            done = py_read_answer(method, answer, &data);
        } else if (++discarded > DISCARD_MAX) {
            PyErr_Format(PyExc_RuntimeError,
                         "host.%S: protocol desync, too many out-of-order frames", method);
            done = -1;
        }
        Py_XDECREF(answer);
    }
    return data;
}

/* With the lock. */
static PyObject *py_transact(PyObject *call_id, PyObject *method, struct buffer *line)
{
    PyObject *data = NULL;
    if (py_post_expect(call_id) == 0 && py_frame_send(line) == 0) {
        data = py_wait(call_id, method);
    }
    py_post_forget();
    return data;
}

/* "hc-SECONDS-COUNT" */
static PyObject *py_new_id(void)
{
    struct buffer id = BUFFER_INIT;
    buffer_put_text(&id, "hc-");
    buffer_put_number(&id, time(NULL));
    buffer_put_char(&id, '-');
    buffer_put_number(&id, (long long)++calls.count);
    PyObject *text = py_text_from(buffer_slice(&id));
    buffer_release(&id);
    return text;
}

PyObject *py_host_call(PyObject *method, PyObject *args, PyObject *cell_id)
{
    struct buffer line = BUFFER_INIT;
    PyObject *data = NULL;
    if (forked_is_child()) {
        PyErr_SetString(PyExc_RuntimeError, "a forked child has no connection to the host");
        return NULL;
    }
    buffer_reserve(&line, USUAL_SIZE);
    PyObject *call_id = py_new_id();
    if (call_id != NULL && py_put_call(call_id, method, args, cell_id, &line) == 0 &&
        py_frames_lock_take(&calls.lock) == 0) {
        data = py_transact(call_id, method, &line);
        py_frames_lock_give(&calls.lock);
    }
    buffer_release(&line);
    Py_XDECREF(call_id);
    return data;
}
