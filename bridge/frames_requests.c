/*
 * The requests of `einkorn frames`: see frames_requests.h. Whatever goes wrong
 * here with one is answered, under its own id and in the type that its sender
 * waits for; such answers are made as text, of few objects, for there may be no
 * memory for more. Worker, main thread; owns nothing.
 */

#include "bridge/frames_requests.h"

#include "bridge/frames_cell.h"
#include "bridge/frames_channel.h"
#include "bridge/frames_names.h"
#include "bridge/frames_write.h"
#include "bridge/json_text.h"
#include "bridge/py_json.h"
#include "bridge/variables.h"
#include "bridge/xalloc.h"

enum { INSPECT_MAX = 500, INSPECT_USUAL = 200 };

/* A member of the request, or that text where there is none. New; NULL with an exception. */
static PyObject *py_member(PyObject *request, enum frames_name name, const char *otherwise)
{
    PyObject *value_b = py_named_b(request, name);
    return value_b != NULL ? Py_NewRef(value_b) : PyUnicode_FromString(otherwise);
}

/* ---- requests --------------------------------------------------------------------------- */

/* A response without a cell; the id as JSON. Of no objects: there may be no memory for them. */
static int py_refuse_named(struct slice id, struct slice why)
{
    struct buffer line = BUFFER_INIT;
    buffer_put_text(&line, "{\"type\":\"response\",\"id\":");
    buffer_put_slice(&line, id);
    buffer_put_text(&line, ",\"stdout\":\"\",\"stderr\":\"\",\"error\":");
    json_put_string(&line, why);
    buffer_put_text(&line, ",\"interrupted\":false,\"trace\":{\"error_lineno\":null,"
                           "\"error_call\":null},\"guards\":{},\"files_read\":[],\"usage\":{}}");
    int error = py_frame_send(&line);
    buffer_release(&line);
    return error;
}

static int py_refuse(PyObject *id, struct slice why)
{
    struct buffer name = BUFFER_INIT;
    int error = py_frame_put(&name, id);
    error = error == 0 ? py_refuse_named(buffer_slice(&name), why) : error;
    buffer_release(&name);
    return error;
}

static int py_execute(PyObject *request, PyObject *id)
{
    PyObject *code = py_member(request, NAME_CODE, "");
    PyObject *origin = py_member(request, NAME_ORIGIN, "agent");
    int error = -1;
    if (code != NULL && origin != NULL) {
        error = PyUnicode_Check(code)
                    ? py_frames_cell_run(code, id, origin)
                    : py_refuse(id, slice_of("invalid request: code is not a string"));
    }
    Py_XDECREF(code);
    Py_XDECREF(origin);
    return error;
}

static int py_refuse_inspection_named(struct slice id, long limit, const char *why)
{
    struct buffer line = BUFFER_INIT;
    buffer_put_text(&line, "{\"type\":\"variables_response\",\"id\":");
    buffer_put_slice(&line, id);
    buffer_printf(&line, ",\"variables\":[],\"truncated\":false,\"limit\":%ld,\"error\":\"%s\"}",
                  limit, why);
    int error = py_frame_send(&line);
    buffer_release(&line);
    return error;
}

static int py_refuse_inspection(PyObject *id, long limit, const char *why)
{
    struct buffer name = BUFFER_INIT;
    int error = py_frame_put(&name, id);
    error = error == 0 ? py_refuse_inspection_named(buffer_slice(&name), limit, why) : error;
    buffer_release(&name);
    return error;
}

/* -> 1 to INSPECT_MAX; 0: it is not good. */
static long py_limit(PyObject *request)
{
    PyObject *given_b = py_named_b(request, NAME_LIMIT);
    long limit = given_b == NULL              ? INSPECT_USUAL
                 : PyLong_CheckExact(given_b) ? PyLong_AsLong(given_b)
                                              : 0;
    PyErr_Clear(); /* beyond a long */
    return limit >= 1 && limit <= INSPECT_MAX ? limit : 0;
}

static int py_put_inspection(struct buffer *line, PyObject *id, long limit)
{
    PyObject *found = py_variables(frames_namespace_b(), limit);
    PyObject *frame = Py_BuildValue("{s:s,s:O}", "type", "variables_response", "id", id);
    int error = found != NULL && frame != NULL ? PyDict_Update(frame, found) : -1;
    error = error == 0 ? py_json_put(line, frame) : error;
    Py_XDECREF(found);
    Py_XDECREF(frame);
    return error == 0 && line->n < FRAME_MAX ? 0 : -1;
}

static int py_inspect(PyObject *request, PyObject *id)
{
    struct buffer line = BUFFER_INIT;
    long limit = py_limit(request);
    if (limit == 0) {
        return py_refuse_inspection(id, 0, "invalid variable inspection limit");
    }
    int error = py_put_inspection(&line, id, limit);
    if (error == 0) {
        error = py_frame_send(&line);
    } else {
        PyErr_Clear();
        (void)xalloc_use_reserve();
        error = py_refuse_inspection(id, limit, "variable inspection failed closed");
    }
    buffer_release(&line);
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

static int py_dispatch(PyObject *request, PyObject *type, PyObject *id)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (py_text_is(type, handlers[i].type)) {
            return handlers[i].py_serve(request, id);
        }
    }
    return 0;
}

/* Of what class it is, and what it says; nothing where that cannot be told. */
static void py_put_problem(struct buffer *text, PyObject *problem)
{
    PyObject *name = PyType_GetName(Py_TYPE(problem));
    if (name != NULL) {
        (void)py_text_put(text, PyUnicode_FromFormat(": %U: %S", name, problem));
    }
    PyErr_Clear();
    Py_XDECREF(name);
}

/*
 * Something of ours raised: the host must not wait for an answer that never comes. Where there
 * was no memory even for the exception there is none.
 */
static int py_answer_for_failure(PyObject *id)
{
    struct buffer why = BUFFER_INIT;
    PyObject *problem = py_exception_take();
    buffer_put_text(&why, "einkorn could not serve this request");
    if (problem == NULL || PyErr_GivenExceptionMatches(problem, PyExc_MemoryError)) {
        (void)xalloc_use_reserve();
        buffer_put_text(&why, ": MemoryError");
    } else {
        py_put_problem(&why, problem);
    }
    int error = py_refuse(id, buffer_slice(&why));
    buffer_release(&why);
    Py_XDECREF(problem);
    return error;
}

/* What the answer depends on: its name, and the type that its sender waits for. */
static PyObject *py_member_surely(PyObject *request, enum frames_name name, const char *otherwise)
{
    PyObject *value = py_member(request, name, otherwise);
    if (value == NULL && xalloc_use_reserve()) {
        PyErr_Clear();
        value = py_member(request, name, otherwise);
    }
    return value;
}

int py_frames_serve(PyObject *request)
{
    PyObject *id = py_member_surely(request, NAME_ID, "unknown");
    PyObject *type = id != NULL ? py_member_surely(request, NAME_TYPE, "execute") : NULL;
    int error = type != NULL ? 0 : -1;
    if (error == 0 && py_text_is(type, "shutdown")) {
        error = 1;
    } else if (error == 0) {
        error = py_dispatch(request, type, id);
    }
    if (error < 0 && id != NULL && !channel_is_lost()) {
        error = py_answer_for_failure(id);
    }
    Py_XDECREF(type);
    Py_XDECREF(id);
    return error;
}

/* A member's raw text, or that where there is none. */
static struct slice raw_member(struct slice object, const char *name, const char *otherwise)
{
    struct slice value;
    return json_object_find(object, name, &value) == 0 ? value : slice_of(otherwise);
}

int py_frames_refuse_unread(PyObject *line)
{
    struct slice text = {(const uint8_t *)PyBytes_AsString(line), (size_t)PyBytes_Size(line)};
    struct slice id = raw_member(text, "id", "\"unknown\"");
    struct slice type = raw_member(text, "type", "\"execute\"");
    int64_t limit = INSPECT_USUAL;
    if (json_kind_of(type) != JSON_STRING) {
        return 0;
    }
    if (json_string_is(type, "execute")) {
        return py_refuse_named(id, slice_of("einkorn could not serve this request: MemoryError"));
    }
    if (json_string_is(type, "inspect_variables")) {
        (void)json_object_get_int(text, "limit", INSPECT_USUAL, &limit);
        return py_refuse_inspection_named(id, (long)limit, "variable inspection failed closed");
    }
    return json_string_is(type, "shutdown") ? 1 : 0;
}

int py_frames_refuse_line(void)
{
    struct buffer line = BUFFER_INIT;
    buffer_put_text(&line,
                    "{\"type\":\"response\",\"id\":\"unknown\",\"stdout\":\"\","
                    "\"stderr\":\"\",\"error\":\"invalid JSON request\",\"interrupted\":false,"
                    "\"trace\":{\"error_lineno\":null,\"error_call\":null},\"usage\":{}}");
    int error = py_frame_send(&line);
    buffer_release(&line);
    return error;
}
