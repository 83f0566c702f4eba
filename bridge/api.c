/*
 * The functions of `_einkorn`: see api.h. Everything is encoded first and sent
 * then, so an object that can not be written leaves no half message. Worker,
 * any Python thread; owns the class that a refused input() raises.
 */

#include "bridge/api.h"

#include <stdlib.h>

#include "bridge/forked.h"
#include "bridge/link.h"
#include "bridge/py_json.h"
#include "bridge/tape.h"
#include "bridge/xalloc.h"

static PyObject *stdin_error; /* hooks.StdinNotImplementedError */

int py_put_error(struct buffer *buffer, PyObject *ename, PyObject *evalue, PyObject *traceback)
{
    buffer_put_text(buffer, "\"ename\":");
    if (py_json_put(buffer, ename) != 0) {
        return -1;
    }
    buffer_put_text(buffer, ",\"evalue\":");
    if (py_json_put(buffer, evalue) != 0) {
        return -1;
    }
    buffer_put_text(buffer, ",\"traceback\":");
    return py_json_put(buffer, traceback);
}

int py_refuse_child(void)
{
    if (!forked_is_child()) {
        return 0;
    }
    PyErr_SetString(PyExc_RuntimeError, "a forked child has no connection to the notebook");
    return -1;
}

int py_publish_text(struct speaker *speaker, const char *type, struct slice content)
{
    const struct slice part[] = {slice_of(type), slice_of("{}"), content};
    return speaker->port->py_publish(speaker->request, part, 3);
}

/* ---- publish ------------------------------------------------------------------ */

/* The message's buffers, held until it is sent. */
struct views {
    Py_buffer *view;
    size_t count;
};

static void py_views_release(struct views *self)
{
    while (self->count > 0) {
        PyBuffer_Release(&self->view[--self->count]);
    }
    free(self->view);
}

static int py_views_add(struct views *self, PyObject *item)
{
    Py_buffer *view = &self->view[self->count];
    if (PyObject_GetBuffer(item, view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear(); /* strided, or no buffer at all: bytes() knows */
        PyObject *bytes = PyBytes_FromObject(item);
        int error = bytes != NULL ? PyObject_GetBuffer(bytes, view, PyBUF_SIMPLE) : -1;
        Py_XDECREF(bytes); /* the view holds it */
        if (error != 0) {
            return -1;
        }
    }
    self->count++;
    return 0;
}

static int py_views_fill(struct views *self, PyObject *buffers)
{
    PyObject *items = PySequence_Tuple(buffers);
    if (items == NULL) {
        return -1;
    }
    size_t count = (size_t)PyTuple_Size(items);
    int error = 0;
    if (count > LINK_PARTS_MAX - 3) {
        PyErr_Format(PyExc_ValueError, "a message has at most %d buffers", LINK_PARTS_MAX - 3);
        error = -1;
    } else {
        self->view = xcalloc(count + 1, sizeof *self->view);
    }
    for (size_t i = 0; i < count && error == 0; i++) {
        error = py_views_add(self, PyTuple_GetItem(items, (Py_ssize_t)i));
    }
    Py_DECREF(items);
    return error;
}

static int py_publish_parts(const char *type, struct slice metadata, struct slice content,
                            const struct views *views)
{
    struct slice *part = xcalloc(views->count + 3, sizeof *part);
    part[0] = slice_of(type);
    part[1] = metadata;
    part[2] = content;
    for (size_t i = 0; i < views->count; i++) {
        part[3 + i] = (struct slice){views->view[i].buf, (size_t)views->view[i].len};
    }
    struct speaker *speaker = py_speaker_current();
    int error = speaker->port->py_publish(speaker->request, part, views->count + 3);
    py_speaker_leave(speaker);
    free(part);
    return error;
}

static PyObject *py_publish(PyObject *self, PyObject *args, PyObject *options)
{
    static char name[][9] = {"msg_type", "content", "metadata", "buffers"};
    static char *names[] = {name[0], name[1], name[2], name[3], NULL};
    const char *type = NULL;
    PyObject *content_b = NULL;
    PyObject *metadata_b = Py_None;
    PyObject *buffers_b = NULL;
    (void)self;
    if (py_refuse_child() != 0 ||
        !PyArg_ParseTupleAndKeywords(args, options, "sO|OO:publish", names, &type, &content_b,
                                     &metadata_b, &buffers_b)) {
        return NULL;
    }
    struct buffer content = BUFFER_INIT;
    struct buffer metadata = BUFFER_INIT;
    struct views views = {NULL, 0};
    int error = py_json_put(&content, content_b);
    if (error == 0 && metadata_b == Py_None) {
        buffer_put_text(&metadata, "{}");
    } else if (error == 0) {
        error = py_json_put(&metadata, metadata_b);
    }
    if (error == 0 && buffers_b != NULL && buffers_b != Py_None) {
        error = py_views_fill(&views, buffers_b);
    }
    if (error == 0) {
        error = py_publish_parts(type, buffer_slice(&metadata), buffer_slice(&content), &views);
    }
    py_views_release(&views);
    buffer_release(&content);
    buffer_release(&metadata);
    if (error != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_error(PyObject *self, PyObject *args)
{
    PyObject *ename_b = NULL;
    PyObject *evalue_b = NULL;
    PyObject *traceback_b = NULL;
    (void)self;
    if (py_refuse_child() != 0 ||
        !PyArg_ParseTuple(args, "OOO:error", &ename_b, &evalue_b, &traceback_b)) {
        return NULL;
    }
    struct buffer content = BUFFER_INIT;
    buffer_put_char(&content, '{');
    int error = py_put_error(&content, ename_b, evalue_b, traceback_b);
    buffer_put_char(&content, '}');
    if (error == 0) {
        struct speaker *speaker = py_speaker_current();
        error = py_publish_text(speaker, "error", buffer_slice(&content));
        py_speaker_leave(speaker);
    }
    buffer_release(&content);
    if (error != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- ask, payload, encode -------------------------------------------------------- */

static PyObject *py_refuse_stdin(bool password)
{
    PyErr_Format(stdin_error != NULL ? stdin_error : PyExc_RuntimeError,
                 "%s was called, but this frontend does not support input requests.",
                 password ? "getpass" : "raw_input");
    return NULL;
}

static PyObject *py_ask(PyObject *self, PyObject *args)
{
    PyObject *prompt_b = NULL;
    int password = 0;
    (void)self;
    if (py_refuse_child() != 0 || !PyArg_ParseTuple(args, "Up:ask", &prompt_b, &password)) {
        return NULL;
    }
    struct speaker *speaker = py_speaker_current();
    struct buffer content = BUFFER_INIT;
    PyObject *line = NULL;
    if (!speaker->allow_stdin) {
        line = py_refuse_stdin(password != 0);
    } else {
        buffer_put_text(&content, "{\"prompt\":");
        if (py_json_put(&content, prompt_b) == 0) {
            buffer_printf(&content, ",\"password\":%s}", password != 0 ? "true" : "false");
            line = speaker->port->py_ask(speaker->request, buffer_slice(&content));
        }
    }
    buffer_release(&content);
    py_speaker_leave(speaker);
    return line;
}

static PyObject *py_set_stdin_error(PyObject *self, PyObject *class)
{
    (void)self;
    PyObject *before = stdin_error;
    stdin_error = Py_NewRef(class);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* What a payload is for (Messaging spec, "Payloads (DEPRECATED)"); NULL: it does not say. */
static PyObject *py_source_b(PyObject *item)
{
    PyObject *source_b = PyDict_Check(item) ? PyDict_GetItemString(item, "source") : NULL;
    return source_b != NULL && PyUnicode_Check(source_b) ? source_b : NULL;
}

/* Of one source the last payload counts: its place in the list, or the list's end. */
static Py_ssize_t py_payload_place(PyObject *list, PyObject *source)
{
    Py_ssize_t n = PyList_Size(list);
    for (Py_ssize_t i = 0; i < n && source != NULL; i++) {
        PyObject *other_b = py_source_b(PyList_GetItem(list, i));
        if (other_b != NULL && PyUnicode_Compare(other_b, source) == 0) {
            return i;
        }
    }
    return n;
}

static PyObject *py_payload(PyObject *self, PyObject *item)
{
    (void)self;
    PyObject *source_b = py_source_b(item);
    bool is_exit = source_b != NULL && PyUnicode_CompareWithASCIIString(source_b, "ask_exit") == 0;
    if (is_exit && forked_is_child()) {
        PyErr_SetNone(PyExc_SystemExit); /* no client is to be asked: exit() of a plain Python */
        return NULL;
    }
    if (py_refuse_child() != 0) {
        return NULL;
    }
    struct speaker *speaker = py_speaker_current();
    if (speaker->ended) {
        py_speaker_leave(speaker);
        PyErr_SetString(PyExc_RuntimeError, "the cell has its reply already");
        return NULL;
    }
    Py_ssize_t place = py_payload_place(speaker->payload, source_b);
    int error = place < PyList_Size(speaker->payload)
                    ? PyList_SetItem(speaker->payload, place, Py_NewRef(item))
                    : PyList_Append(speaker->payload, item);
    if (is_exit) {
        speaker->exits = PyDict_GetItemString(item, "keepkernel") != Py_True;
    }
    py_speaker_leave(speaker);
    if (error != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef speaking_methods[] = {
    {"publish", (PyCFunction)(void (*)(void))py_publish, METH_VARARGS | METH_KEYWORDS,
     "publish(msg_type, content, metadata=None, buffers=())\n--\n\n"
     "Sends a message to everybody who listens, in the current cell."},
    {"error", py_error, METH_VARARGS,
     "error(ename, evalue, traceback, /)\n--\n\nSends an error message in the current cell."},
    {"ask", py_ask, METH_VARARGS,
     "ask(prompt, password, /)\n--\n\nAsks the current cell's user for a line."},
    {"set_stdin_error", py_set_stdin_error, METH_O,
     "set_stdin_error(class, /)\n--\n\nThe exception of ask() where asking is not allowed."},
    {"payload", py_payload, METH_O,
     "payload(item, /)\n--\n\nAdds to the payload of the current cell's reply, in place of what "
     "has the same source."},
    {"tape", py_tape, METH_O,
     "tape(room, /)\n--\n\nWhat was written to the streams since the last call, as a list of "
     "(0 for stdout or 1 for stderr, text). From now on `room` bytes are kept; 0: nothing."},
    {NULL, NULL, 0, NULL},
};

PyMethodDef *const api_link_tables[] = {speaking_methods, api_session_methods, NULL};
