/*
 * The response to a cell: see frames_response.h. Written as text straight away; a dict
 * in between would cost as much as a small cell. Worker, main thread; owns nothing.
 */

#include "bridge/frames_response.h"

#include "bridge/frames_stream.h"
#include "bridge/frames_write.h"
#include "bridge/py_json.h"

enum { USUAL_SIZE = 512 }; /* of one with little output */

static PyObject *py_text_of(PyObject *stream)
{
    PyObject *text = stream != NULL ? py_frames_stream_text(stream) : PyUnicode_FromString("");
    if (text == NULL) {
        PyErr_Clear(); /* a cell that closed it the hard way */
        text = PyUnicode_FromString("");
    }
    return text;
}

/* ,"name":value */
static int py_put_member(struct buffer *line, const char *name, PyObject *value)
{
    buffer_put_text(line, ",\"");
    buffer_put_text(line, name);
    buffer_put_text(line, "\":");
    return value != NULL ? py_frame_put(line, value) : -1;
}

static int py_put_text_of(struct buffer *line, const char *name, PyObject *stream)
{
    PyObject *text = py_text_of(stream);
    int error = py_put_member(line, name, text);
    Py_XDECREF(text);
    return error;
}

static int py_put_guards(struct buffer *line, PyObject *guards)
{
    if (guards == NULL) {
        buffer_put_text(line, ",\"guards\":{}");
        return 0;
    }
    return py_put_member(line, "guards", guards);
}

static int py_put_facts(struct buffer *line, PyObject *facts)
{
    Py_ssize_t at = 0;
    PyObject *key_b = NULL;
    PyObject *value_b = NULL;
    int error = 0;
    if (facts == NULL || !PyDict_Check(facts)) {
        return 0;
    }
    while (error == 0 && PyDict_Next(facts, &at, &key_b, &value_b)) {
        const char *key = PyUnicode_AsUTF8AndSize(key_b, NULL);
        error = key != NULL ? py_put_member(line, key, value_b) : -1;
    }
    return error;
}

/* Its ten keys, and what the facts add. */
static int py_put_response(struct buffer *line, const struct response *self)
{
    buffer_put_text(line, "{\"type\":\"response\"");
    if (self->description == NULL || py_put_member(line, "id", self->id) != 0 ||
        py_put_text_of(line, "stdout", self->out) != 0 ||
        py_put_text_of(line, "stderr", self->err) != 0 ||
        py_put_member(line, "error", PyTuple_GetItem(self->description, 0)) != 0) {
        return -1;
    }
    buffer_put_text(line, self->interrupted ? ",\"interrupted\":true" : ",\"interrupted\":false");
    buffer_put_text(line, ",\"trace\":{\"error_lineno\":");
    if (py_json_put(line, PyTuple_GetItem(self->description, 1)) != 0 ||
        py_put_member(line, "error_call", PyTuple_GetItem(self->description, 2)) != 0) {
        return -1;
    }
    buffer_put_text(line, "},\"files_read\":");
    int error = 0;
    if (self->files_read != NULL) {
        error = py_json_put(line, self->files_read);
    } else {
        buffer_put_text(line, "[]");
    }
    buffer_put_text(line, ",\"usage\":");
    usage_put(&self->used, line);
    if (error != 0 || py_put_guards(line, self->guards) != 0 ||
        py_put_facts(line, self->facts) != 0) {
        return -1;
    }
    buffer_put_char(line, '}');
    return 0;
}

int py_response_send(const struct response *self)
{
    struct buffer line = BUFFER_INIT;
    buffer_reserve(&line, USUAL_SIZE);
    int error = py_put_response(&line, self);
    error = py_frame_respond(&line, error, self->id, self->interrupted);
    buffer_release(&line);
    return error;
}
