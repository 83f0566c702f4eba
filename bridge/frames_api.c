/* The functions of `_einkorn`: see frames_api.h. Worker, any Python thread; owns nothing. */

#include "bridge/frames_api.h"

#include "bridge/audit.h"
#include "bridge/buffer.h"
#include "bridge/frames_cell.h"
#include "bridge/frames_host_call.h"
#include "bridge/frames_write.h"
#include "bridge/gate.h"
#include "bridge/py_compat.h"
#include "bridge/py_json.h"
#include "bridge/sha256.h"
#include "bridge/wrapped_open.h"

static PyObject *py_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "host_call() takes a method and its args");
        return NULL;
    }
    if (!frames_have_host()) {
        PyErr_SetString(PyExc_RuntimeError, "this kernel has no host");
        return NULL;
    }
    return py_host_call(args[0], args[1], frames_cell_id_b());
}

static PyObject *py_write_frame(PyObject *self, PyObject *frame)
{
    (void)self;
    if (!PyDict_Check(frame)) {
        PyErr_SetString(PyExc_TypeError, "a frame is a dict");
        return NULL;
    }
    return py_frame_write(frame) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_cell_id(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_NewRef(frames_cell_id_b());
}

static PyObject *py_cell_origin(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_NewRef(frames_cell_origin_b());
}

static PyObject *py_listen(PyObject *self, PyObject *args)
{
    PyObject *name_b = NULL;
    PyObject *listener_b = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "UO:listen", &name_b, &listener_b) ||
        py_audit_listen(name_b, listener_b) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_sha256(PyObject *self, PyObject *bytes)
{
    uint8_t digest[SHA256_BYTES];
    char *p = NULL;
    Py_ssize_t n = 0;
    (void)self;
    if (PyBytes_AsStringAndSize(bytes, &p, &n) != 0) {
        return NULL;
    }
    sha256((struct slice){(const uint8_t *)p, (size_t)n}, digest);
    return PyBytes_FromStringAndSize((const char *)digest, SHA256_BYTES);
}

static PyObject *py_wrap_open(PyObject *self, PyObject *opened)
{
    (void)self;
    return py_wrapped_open(opened);
}

PyMethodDef frames_api_methods[] = {
    {"host_call", (PyCFunction)(void (*)(void))py_call, METH_FASTCALL,
     "host_call(method, args, /)\n--\n\nAsks the host and returns what it answers, in any thread. "
     "RuntimeError: its error, or it is gone; ValueError: args (a list) are too big to be sent."},
    {"write_frame", py_write_frame, METH_O,
     "write_frame(frame, /)\n--\n\nSends a dict to the host, whole and as one line."},
    {"cell_id", py_cell_id, METH_NOARGS,
     "cell_id()\n--\n\nThe id of the cell that began last; None before the first."},
    {"cell_origin", py_cell_origin, METH_NOARGS,
     "cell_origin()\n--\n\nWho asked for that cell: 'agent', 'user', 'system', …; None before "
     "the first."},
    {"listen", py_listen, METH_VARARGS,
     "listen(event, listener, /)\n--\n\nHas listener(*args) called at the audit events of that "
     "name; what it raises is raised there. None: no more."},
    {"sha256", py_sha256, METH_O, "sha256(data, /)\n--\n\nThe 32 bytes of bytes."},
    {"wrap_open", py_wrap_open, METH_O,
     "wrap_open(opened, /)\n--\n\nA function that opens as io.open does and returns opened(file, "
     "args, kwargs), or the file where that fails."},
    {NULL, NULL, 0, NULL},
};
