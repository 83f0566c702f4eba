/*
 * The stream type: see frames_stream.h. A subclass of _io.StringIO in C and not
 * in Python, because a write counts, keeps and sends, and an interrupt must not
 * come between these. The limited API knows no size of StringIO's struct: ours
 * lies behind it, where StringIO says that it ends. Worker, any Python thread.
 */

#include "bridge/frames_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#include "bridge/forked.h"
#include "bridge/frames_write.h"
#include "bridge/port.h"

/* What a stream has beyond StringIO. */
struct extra {
    PyObject *chunks_of;
    Py_ssize_t kept; /* characters */
    bool is_cut;     /* something was over the limit */
};

static struct {
    PyTypeObject *type;
    PyObject *write; /* _io.StringIO.write */
    PyObject *getvalue;
    Py_ssize_t base_size;
    PyThread_type_lock lock; /* over one write to a stdout: see stream_lock */
    unsigned long owner;     /* the thread that has it; 0: nobody */
} types;

static struct extra *extra_of(PyObject *self)
{
    return (struct extra *)(void *)((char *)self + types.base_size);
}

/*
 * What threads write must reach the host in the order in which it is kept. A finalizer
 * that prints in the midst of its own thread's write goes on without. -> false: it does.
 */
static bool stream_lock(void)
{
    unsigned long self = PyThread_get_thread_ident();
    if (types.owner == self) {
        return false;
    }
    if (PyThread_acquire_lock(types.lock, NOWAIT_LOCK) == 0) {
        PyThreadState *state = PyEval_SaveThread();
        (void)PyThread_acquire_lock(types.lock, WAIT_LOCK);
        PyEval_RestoreThread(state);
    }
    types.owner = self;
    return true;
}

static void stream_unlock(bool has)
{
    if (has) {
        types.owner = 0;
        PyThread_release_lock(types.lock);
    }
}

/* Whole lines, to fd 1 or 2: a forked child has no host. */
static int py_say_in_child(const struct extra *extra, PyObject *text)
{
    return py_forked_put_text(extra->chunks_of != NULL ? PORT_STDOUT : PORT_STDERR, text);
}

/* `n` characters of the text, in chunks. */
static int py_say_chunks(PyObject *cell_id, PyObject *text, Py_ssize_t n)
{
    if (n > 0 && n == PyUnicode_GetLength(text) && n <= FRAME_CHUNK_MAX) {
        return py_frame_say(cell_id, text);
    }
    for (Py_ssize_t at = 0; at < n; at += FRAME_CHUNK_MAX) {
        Py_ssize_t end = at + FRAME_CHUNK_MAX < n ? at + FRAME_CHUNK_MAX : n;
        PyObject *part = PyUnicode_Substring(text, at, end);
        int error = part != NULL ? py_frame_say(cell_id, part) : -1;
        Py_XDECREF(part);
        if (error != 0) {
            return -1;
        }
    }
    return 0;
}

static int py_say_marker(PyObject *cell_id)
{
    PyObject *marker = PyUnicode_FromString(FRAME_MARKER);
    int error = marker != NULL ? py_frame_say(cell_id, marker) : -1;
    Py_XDECREF(marker);
    return error;
}

/* The first `n` characters, into the StringIO. */
static int py_keep(PyObject *self, PyObject *text, Py_ssize_t n)
{
    PyObject *part =
        n == PyUnicode_GetLength(text) ? Py_NewRef(text) : PyUnicode_Substring(text, 0, n);
    PyObject *done =
        part != NULL ? PyObject_CallFunctionObjArgs(types.write, self, part, NULL) : NULL;
    Py_XDECREF(part);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

/* All is kept and counted before any of it is sent: sending lets other threads in. */
static int py_write_some(PyObject *self, PyObject *text, Py_ssize_t length)
{
    struct extra *extra = extra_of(self);
    Py_ssize_t room = FRAME_OUTPUT_MAX - extra->kept;
    Py_ssize_t n = length < room ? length : room;
    bool is_first_cut = n < length && !extra->is_cut;
    if (n > 0 && py_keep(self, text, n) != 0) {
        return -1;
    }
    extra->kept += n;
    extra->is_cut = extra->is_cut || is_first_cut;
    if (extra->chunks_of == NULL) {
        return 0;
    }
    if (py_say_chunks(extra->chunks_of, text, n) != 0) {
        return -1;
    }
    return is_first_cut ? py_say_marker(extra->chunks_of) : 0;
}

static int py_write_in_order(PyObject *self, PyObject *text, Py_ssize_t length)
{
    if (extra_of(self)->chunks_of == NULL) {
        return py_write_some(self, text, length);
    }
    bool has = stream_lock();
    int error = py_write_some(self, text, length);
    stream_unlock(has);
    return error;
}

/* The length handed over, never that kept: a short count would be a failed write to others. */
static PyObject *py_write(PyObject *self, PyObject *text)
{
    if (!PyUnicode_Check(text)) { /* StringIO says what is wrong with it */
        return PyObject_CallFunctionObjArgs(types.write, self, text, NULL);
    }
    Py_ssize_t length = PyUnicode_GetLength(text);
    int error = forked_is_child() ? py_say_in_child(extra_of(self), text)
                                  : py_write_in_order(self, text, length);
    return error == 0 ? PyLong_FromSsize_t(length) : NULL;
}

static PyObject *py_flush(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (forked_is_child() &&
        py_forked_flush(extra_of(self)->chunks_of != NULL ? PORT_STDOUT : PORT_STDERR) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* What a cell wrote before it closed its stream was written all the same. */
static PyObject *py_close(PyObject *self, PyObject *unused)
{
    return py_flush(self, unused);
}

/* In place of IOBase's, which asks whether it is closed and closes it: nothing is left to do. */
static void py_finalize(PyObject *self)
{
    (void)self;
}

static PyMethodDef methods[] = {
    {"write", py_write, METH_O, NULL},
    {"flush", py_flush, METH_NOARGS, NULL},
    {"close", py_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* A member, as __slots__ make them: that is let go with the object without a word from us. */
static PyMemberDef members[] = {
    {"_cell_id", T_OBJECT_EX, 0, 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static Py_ssize_t py_size_of(PyObject *type)
{
    PyObject *size = PyObject_GetAttrString(type, "__basicsize__");
    Py_ssize_t n = size != NULL ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    return n;
}

static int py_make_type(PyObject *base)
{
    static PyType_Slot slots[] = {
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_finalize, (void *)py_finalize},
        {0, NULL},
    };
    types.base_size = py_size_of(base);
    if (types.base_size < 0) {
        return -1;
    }
    members[0].offset = types.base_size + (Py_ssize_t)offsetof(struct extra, chunks_of);
    PyType_Spec spec = {
        .name = "_einkorn.CellStream",
        .basicsize = (int)types.base_size + (int)sizeof(struct extra),
        /* what one cell does to the type must not be the next one's */
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    types.type = (PyTypeObject *)PyType_FromSpecWithBases(&spec, base);
    return types.type != NULL ? 0 : -1;
}

int py_frames_stream_init(void)
{
    PyObject *io = PyImport_ImportModule("_io");
    PyObject *base = io != NULL ? PyObject_GetAttrString(io, "StringIO") : NULL;
    int error = -1;
    types.lock = PyThread_allocate_lock();
    if (base != NULL && types.lock != NULL) {
        types.write = PyObject_GetAttrString(base, "write");
        types.getvalue = PyObject_GetAttrString(base, "getvalue");
        error = types.write != NULL && types.getvalue != NULL ? py_make_type(base) : -1;
    }
    Py_XDECREF(io);
    Py_XDECREF(base);
    return error;
}

PyObject *py_frames_stream_new(PyObject *chunks_of)
{
    PyObject *self = PyObject_CallNoArgs((PyObject *)types.type);
    if (self != NULL) {
        extra_of(self)->chunks_of = Py_XNewRef(chunks_of);
    }
    return self;
}

PyObject *py_frames_stream_text(PyObject *stream)
{
    PyObject *text = PyObject_CallFunctionObjArgs(types.getvalue, stream, NULL);
    if (text == NULL || !extra_of(stream)->is_cut) {
        return text;
    }
    PyObject *whole = PyUnicode_FromFormat("%U%s", text, FRAME_MARKER);
    Py_DECREF(text);
    return whole;
}
