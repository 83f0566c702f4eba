/*
 * The stream types: see streams.h; what is written goes on by stream_say.h. There are
 * exactly two objects of each type and nobody can make more, so an object is known by its
 * address and needs no fields of its own behind those of its base class. The bases are CPython's C
 * classes (_io._TextIOBase, _io._BufferedIOBase), which serve everything that
 * a stream can not do with UnsupportedOperation; io's abstract classes learn of
 * ours by register(), as they did of CPython's. Worker, any Python thread.
 */

#include "bridge/streams.h"

#include "bridge/forked.h"
#include "bridge/outstream.h"
#include "bridge/port.h"
#include "bridge/stream_say.h"

static struct {
    PyObject *text;
    PyObject *raw;        /* text.buffer */
    PyObject *attributes; /* text.__dict__: what the user put over methods */
} streams[PORT_STREAMS];

static const char *const stream_name[PORT_STREAMS] = {"<stdout>", "<stderr>"};

static int stream_of(PyObject *self)
{
    return self == streams[PORT_STDERR].text || self == streams[PORT_STDERR].raw ? PORT_STDERR
                                                                                 : PORT_STDOUT;
}

PyObject *stream_object_b(int stream)
{
    return streams[stream].text;
}

/* `softspace` changes nothing: IPython sets it after each cell, as Python 2 did. */
static bool is_as_we_made_it(PyObject *attributes)
{
    Py_ssize_t n = PyDict_Size(attributes);
    return n == 0 || (n == 1 && PyDict_GetItemString(attributes, "softspace") != NULL);
}

int stream_if_ours(PyObject *file)
{
    for (int i = 0; i < PORT_STREAMS; i++) {
        if (file == streams[i].text) {
            return file != NULL && is_as_we_made_it(streams[i].attributes) ? i : -1;
        }
    }
    return -1;
}

/* ---- writing ------------------------------------------------------------- */

static PyObject *py_text_write(PyObject *self, PyObject *text)
{
    if (!PyUnicode_Check(text)) {
        PyObject *class = PyType_GetName(Py_TYPE(text));
        if (class != NULL) {
            PyErr_Format(PyExc_TypeError, "write() argument must be str, not %U", class);
            Py_DECREF(class);
        }
        return NULL;
    }
    if (py_stream_say(stream_of(self), text) != 0) {
        return NULL;
    }
    return PyLong_FromSsize_t(PyUnicode_GetLength(text));
}

static PyObject *py_raw_write(PyObject *self, PyObject *data)
{
    Py_buffer view;
    if (PyUnicode_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "a bytes-like object is required, not 'str'");
        return NULL;
    }
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    int error = py_stream_say_bytes(stream_of(self), (struct slice){view.buf, (size_t)view.len});
    PyObject *n = error == 0 ? PyLong_FromSsize_t(view.len) : NULL;
    PyBuffer_Release(&view);
    return n;
}

/* ---- the rest of the surface ------------------------------------------------ */

static PyObject *py_flush(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (forked_is_child() && py_forked_flush(stream_of(self)) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *py_close(PyObject *self, PyObject *unused)
{
    return py_flush(self, unused);
}

static PyObject *py_reconfigure(PyObject *self, PyObject *args, PyObject *options)
{
    (void)args;
    (void)options;
    return py_flush(self, NULL);
}

static PyObject *py_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(stream_of(self) == PORT_STDERR ? 2 : 1);
}

static PyObject *py_isatty(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *py_writable(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_TRUE;
}

static PyObject *py_text_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<_einkorn.TextStream name='%s' mode='w' encoding='UTF-8'>",
                                stream_name[stream_of(self)]);
}

static PyObject *py_raw_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<_einkorn.ByteStream name='%s'>", stream_name[stream_of(self)]);
}

static PyObject *py_get_buffer(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(streams[stream_of(self)].raw);
}

static PyObject *py_get_self(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *py_get_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(stream_name[stream_of(self)]);
}

static PyObject *py_get_constant_text(PyObject *self, void *text)
{
    (void)self;
    return PyUnicode_FromString(text);
}

static PyObject *py_get_true(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_TRUE;
}

static PyObject *py_get_false(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_FALSE;
}

static PyObject *py_get_none(PyObject *self, void *unused)
{
    (void)self;
    (void)unused;
    Py_RETURN_NONE;
}

static char encoding_text[] = "UTF-8";
static char errors_text[] = "replace";
static char text_mode[] = "w";
static char raw_mode[] = "wb";

static PyMethodDef text_methods[] = {
    {"write", py_text_write, METH_O, NULL},
    {"flush", py_flush, METH_NOARGS, NULL},
    {"close", py_close, METH_NOARGS, NULL},
    {"fileno", py_fileno, METH_NOARGS, NULL},
    {"isatty", py_isatty, METH_NOARGS, NULL},
    {"writable", py_writable, METH_NOARGS, NULL},
    {"reconfigure", (PyCFunction)(void (*)(void))py_reconfigure, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef text_attributes[] = {
    {"buffer", py_get_buffer, NULL, NULL, NULL},
    {"name", py_get_name, NULL, NULL, NULL},
    {"mode", py_get_constant_text, NULL, NULL, text_mode},
    {"encoding", py_get_constant_text, NULL, NULL, encoding_text},
    {"errors", py_get_constant_text, NULL, NULL, errors_text},
    {"newlines", py_get_none, NULL, NULL, NULL},
    {"closed", py_get_false, NULL, NULL, NULL},
    {"line_buffering", py_get_true, NULL, NULL, NULL},
    {"write_through", py_get_true, NULL, NULL, NULL},
    OUTSTREAM_ATTRIBUTES,
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef raw_methods[] = {
    {"write", py_raw_write, METH_O, NULL},
    {"flush", py_flush, METH_NOARGS, NULL},
    {"close", py_close, METH_NOARGS, NULL},
    {"fileno", py_fileno, METH_NOARGS, NULL},
    {"isatty", py_isatty, METH_NOARGS, NULL},
    {"writable", py_writable, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef raw_attributes[] = {
    {"raw", py_get_self, NULL, NULL, NULL},
    {"name", py_get_name, NULL, NULL, NULL},
    {"mode", py_get_constant_text, NULL, NULL, raw_mode},
    {"closed", py_get_false, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot text_slots[] = {
    {Py_tp_methods, text_methods},
    {Py_tp_getset, text_attributes},
    {Py_tp_repr, (void *)py_text_repr},
    {0, NULL},
};

static PyType_Slot raw_slots[] = {
    {Py_tp_methods, raw_methods},
    {Py_tp_getset, raw_attributes},
    {Py_tp_repr, (void *)py_raw_repr},
    {0, NULL},
};

/* ---- making them --------------------------------------------------------------- */

/* A subclass of one of _io's bases, which one of io's abstract classes accepts as its own. */
static PyObject *py_stream_type(const char *name, PyType_Slot *slots, const char *base_name,
                                const char *abstract_name)
{
    PyType_Spec spec = {
        .name = name,
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    PyObject *type = NULL;
    PyObject *done = NULL;
    PyObject *io = PyImport_ImportModule("io");
    PyObject *c_io = PyImport_ImportModule("_io");
    PyObject *base = c_io != NULL ? PyObject_GetAttrString(c_io, base_name) : NULL;
    PyObject *abstract = io != NULL ? PyObject_GetAttrString(io, abstract_name) : NULL;
    if (base != NULL && abstract != NULL) {
        type = PyType_FromSpecWithBases(&spec, base);
    }
    if (type != NULL) {
        done = PyObject_CallMethod(abstract, "register", "O", type);
    }
    if (done == NULL) {
        Py_CLEAR(type);
    }
    Py_XDECREF(io);
    Py_XDECREF(c_io);
    Py_XDECREF(base);
    Py_XDECREF(abstract);
    Py_XDECREF(done);
    return type;
}

int py_streams_init(void)
{
    PyObject *text_type =
        py_stream_type("_einkorn.TextStream", text_slots, "_TextIOBase", "TextIOBase");
    PyObject *raw_type =
        py_stream_type("_einkorn.ByteStream", raw_slots, "_BufferedIOBase", "BufferedIOBase");
    int error = text_type != NULL && raw_type != NULL ? 0 : -1;
    for (int i = 0; i < PORT_STREAMS && error == 0; i++) {
        streams[i].text = PyType_GenericAlloc((PyTypeObject *)text_type, 0);
        streams[i].raw = PyType_GenericAlloc((PyTypeObject *)raw_type, 0);
        if (streams[i].text != NULL) {
            streams[i].attributes = PyObject_GenericGetDict(streams[i].text, NULL);
        }
        if (streams[i].attributes == NULL || streams[i].raw == NULL) {
            error = -1;
        } else {
            error = PySys_SetObject(i == PORT_STDERR ? "stderr" : "stdout", streams[i].text);
        }
    }
    Py_XDECREF(text_type);
    Py_XDECREF(raw_type);
    return error;
}

int py_streams_flush_others(void)
{
    static const char *const name[] = {"stdout", "stderr", "__stdout__", "__stderr__"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        PyObject *file_b = PySys_GetObject(name[i]);
        if (file_b == NULL || file_b == Py_None || file_b == streams[PORT_STDOUT].text ||
            file_b == streams[PORT_STDERR].text) {
            continue;
        }
        PyObject *file = Py_NewRef(file_b);
        PyObject *done = PyObject_CallMethod(file, "flush", NULL);
        Py_DECREF(file);
        Py_XDECREF(done);
        if (done == NULL && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
            return -1;
        }
        PyErr_Clear();
    }
    return 0;
}
