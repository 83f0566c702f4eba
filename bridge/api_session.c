/*
 * The rest of `_einkorn`: what the Python half may know of the session, and whom it
 * tells of interrupts, comm messages and facts. See api.h. Worker; most of it for the main thread.
 */

#include "bridge/api.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "bridge/code.h"
#include "bridge/facts.h"
#include "bridge/forked.h"
#include "bridge/gate.h"
#include "bridge/loop.h"
#include "bridge/murmur.h"
#include "bridge/port_link.h"
#include "bridge/py_compat.h"

static PyObject *py_set_interrupt_taker(PyObject *self, PyObject *taker)
{
    (void)self;
    py_gate_set_taker(taker);
    Py_RETURN_NONE;
}

static PyObject *py_comms(PyObject *self, PyObject *only_one)
{
    (void)self;
    size_t handled = 0;
    if (py_refuse_child() != 0) {
        return NULL;
    }
    if (syscall(SYS_gettid) != getpid()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "comm messages are handled in the main thread only, where cells run");
        return NULL;
    }
    int more = py_loop_comms(PyObject_IsTrue(only_one) > 0, &handled);
    if (more < 0) {
        return NULL;
    }
    return Py_BuildValue("(nO)", (Py_ssize_t)handled, more > 0 ? Py_True : Py_False);
}

static PyObject *py_awaits(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    struct speaker *speaker = py_speaker_current();
    int error = speaker->port->py_begin(speaker->request);
    py_speaker_leave(speaker);
    if (error != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_request_fd(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(port_link_fd());
}

/* Lone surrogates become '?', as in what is compiled nobody meets them. */
static PyObject *py_murmur2(PyObject *self, PyObject *args)
{
    PyObject *text_b = NULL;
    unsigned int seed = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "UI:murmur2", &text_b, &seed)) {
        return NULL;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(text_b, "utf-8", "replace");
    if (bytes == NULL) {
        return NULL;
    }
    const struct slice slice = {(const uint8_t *)PyBytes_AsString(bytes),
                                (size_t)PyBytes_Size(bytes)};
    uint32_t hash = murmur2(slice, seed);
    Py_DECREF(bytes);
    return PyLong_FromUnsignedLong(hash);
}

static PyObject *py_parent(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    struct speaker *speaker = py_speaker_current();
    PyObject *parent = Py_XNewRef(py_speaker_parent_b(speaker));
    py_speaker_leave(speaker);
    return parent;
}

static PyObject *py_future_flags(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyLong_FromLong(code_future_flags());
}

static PyObject *py_lookup(PyObject *self, PyObject *args)
{
    const char *kind = NULL;
    const char *msg_id = NULL;
    (void)self;
    if (py_refuse_child() != 0 || !PyArg_ParseTuple(args, "ss:lookup", &kind, &msg_id)) {
        return NULL;
    }
    struct speaker *speaker = py_speaker_current();
    PyObject *text = speaker->port->py_lookup(slice_of(kind), slice_of(msg_id));
    py_speaker_leave(speaker);
    return text;
}

static PyObject *py_speaker(PyObject *self, PyObject *args)
{
    unsigned long long request = 0;
    PyObject *parent_b = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "KO!:speaker", &request, &PyDict_Type, &parent_b)) {
        return NULL;
    }
    return (PyObject *)py_speaker_for(request, parent_b);
}

static PyObject *py_history_session(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    /* A forked child has no page. */
    int64_t session = forked_is_child() ? 0 : atomic_load(&port_link_page()->history_session);
    if (session == LINK_SESSION_COMES) {
        Py_RETURN_NONE;
    }
    return PyLong_FromLongLong(session);
}

/* A forked child has no history of its own. */
static PyObject *py_history(PyObject *self, PyObject *args)
{
    enum { TEXTS_MAX = 3 };
    PyObject *text_b[TEXTS_MAX] = {NULL};
    struct buffer room[TEXTS_MAX] = {BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
    struct slice part[TEXTS_MAX];
    size_t count = (size_t)PyTuple_Size(args);
    int error = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "U|UU:history", &text_b[0], &text_b[1], &text_b[2])) {
        return NULL;
    }
    for (size_t i = 0; i < count && error == 0; i++) {
        error = py_text_utf8(text_b[i], &room[i], &part[i]);
    }
    if (error == 0 && !forked_is_child()) {
        struct speaker *speaker = py_speaker_current();
        error = py_port_link_history(speaker->request, part, count);
        py_speaker_leave(speaker);
    }
    for (size_t i = 0; i < count; i++) {
        buffer_release(&room[i]);
    }
    if (error != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_watch_facts(PyObject *self, PyObject *args)
{
    PyObject *figures_b = NULL;
    PyObject *report_b = NULL;
    PyObject *library_b = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOU:watch_facts", &figures_b, &report_b, &library_b) ||
        py_facts_watch(figures_b, report_b, library_b) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_begin_reads(PyObject *self, PyObject *file)
{
    (void)self;
    if (!PyUnicode_Check(file)) {
        PyErr_SetString(PyExc_TypeError, "the name of a file is a str");
        return NULL;
    }
    py_facts_run(file);
    Py_RETURN_NONE;
}

PyMethodDef api_session_methods[] = {
    {"set_interrupt_taker", py_set_interrupt_taker, METH_O,
     "set_interrupt_taker(taker, /)\n--\n\nThe function that is asked, with the current frame, "
     "before KeyboardInterrupt is raised: true means that it has seen to it. None: nobody."},
    {"comms", py_comms, METH_O,
     "comms(only_one, /)\n--\n\nHandles the comm messages that have come while this request runs, "
     "or the next one. -> how many, and whether more may come. Main thread only."},
    {"awaits", py_awaits, METH_NOARGS,
     "awaits()\n--\n\nSays that the cell which runs will call comms() while it awaits."},
    {"request_fd", py_request_fd, METH_NOARGS,
     "request_fd()\n--\n\nThe fd that is readable when comms() is worth a call."},
    {"murmur2", py_murmur2, METH_VARARGS,
     "murmur2(text, seed, /)\n--\n\nThe hash by which debuggers name the file of a cell."},
    {"parent", py_parent, METH_NOARGS,
     "parent()\n--\n\nThe request in whose name is spoken here, always the same dict: header, "
     "msg_id, msg_type, parent_header, metadata, content, buffers. Empty where it is none."},
    {"future_flags", py_future_flags, METH_NOARGS,
     "future_flags()\n--\n\nThe flags of compile() that the session's `from __future__` set."},
    {"lookup", py_lookup, METH_VARARGS,
     "lookup(kind, msg_id, /)\n--\n\nWhat the kernel process knows of the last message on "
     "'control', or of the 'message' with that msg_id: JSON text of an object with number, "
     "identities and header, empty where it knows none."},
    {"speaker", py_speaker, METH_VARARGS,
     "speaker(number, parent, /)\n--\n\nA value for `cell`: who has it there speaks for the "
     "request of that number, whose dict is parent."},
    {"history_session", py_history_session, METH_NOARGS,
     "history_session()\n--\n\nThis session's number in the history's file; 0: it has none; "
     "None: it gets one in a moment."},
    {"history", py_history, METH_VARARGS,
     "history(what, *texts)\n--\n\nTells the kernel process, which writes the history: 'hold', "
     "nothing is written before it was told the place; 'place', file, 'outputs' or '', which "
     "end that (no file: none); 'source', what IPython made of the code of this cell."},
    {"watch_facts", py_watch_facts, METH_VARARGS,
     "watch_facts(figures, report, library, /)\n--\n\nHas the replies of cells tell what "
     "they read and what they left changed: see bridge/facts.h."},
    {"begin_reads", py_begin_reads, METH_O,
     "begin_reads(file, /)\n--\n\nFrom now on the files are noted, if facts are watched, that code "
     "compiled as file reads: of a cell that IPython compiles."},
    {NULL, NULL, 0, NULL},
};
