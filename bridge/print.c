/*
 * print(): see print.h. Python's own writes each value, each separator and the
 * line end by itself. Every write looks at the pipes, which is a system call,
 * and between two of them another thread may print. So this one gathers, and
 * says what it has before it runs code that might print, too: the __str__ of
 * any value but the plainest. Python's own is called wherever something is not
 * as usual: the stream, its `write`, the options; and in forked children.
 *
 * Worker, any Python thread; owns Python's own print and the docstring.
 */

#include "bridge/print.h"

#include <string.h>

#include "bridge/forked.h"
#include "bridge/port.h"
#include "bridge/py_compat.h"
#include "bridge/stream_say.h"
#include "bridge/streams.h"

static struct {
    PyObject *original;
    PyObject *sys_b; /* the attributes of sys */
    PyObject *stdout_name;
    struct buffer doc;
} print;

/* ---- gathering ---------------------------------------------------------------- */

struct line {
    int stream;
    size_t n;
    uint8_t bytes[1024]; /* longer text is not copied, it goes out by itself */
};

static int py_line_say(struct line *self)
{
    size_t n = self->n;
    self->n = 0;
    return n > 0 ? py_stream_say_utf8(self->stream, (struct slice){self->bytes, n}) : 0;
}

static int py_line_put(struct line *self, PyObject *text)
{
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8 = {NULL, 0};
    size_t room = sizeof self->bytes - self->n;
    bool fits = (size_t)PyUnicode_GetLength(text) <= room;
    int error = fits ? py_text_utf8(text, &scratch, &utf8) : 0;
    if (error == 0 && fits && utf8.n <= room) {
        memcpy(self->bytes + self->n, utf8.p, utf8.n);
        self->n += utf8.n;
    } else if (error == 0) {
        error = py_line_say(self) != 0 ? -1 : py_stream_say(self->stream, text);
    }
    buffer_release(&scratch);
    return error;
}

/* str() of these runs no code but Python's own. */
static bool is_plain(PyObject *value)
{
    return PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || value == Py_None;
}

/* What stands before a value that has no text is printed. -> -1. */
static int py_line_break_off(struct line *self)
{
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    if (py_line_say(self) == 0) {
        PyErr_Restore(type, value, traceback);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    return -1;
}

static int py_line_put_value(struct line *self, PyObject *value)
{
    if (!is_plain(value) && py_line_say(self) != 0) {
        return -1;
    }
    PyObject *text = PyObject_Str(value);
    if (text == NULL) {
        return py_line_break_off(self);
    }
    int error = py_line_put(self, text);
    Py_DECREF(text);
    return error;
}

/* A separator or line end; NULL: this default. */
static int py_line_put_between(struct line *self, PyObject *text, char otherwise)
{
    if (text != NULL) {
        return py_line_put(self, text);
    }
    if (self->n == sizeof self->bytes && py_line_say(self) != 0) {
        return -1;
    }
    self->bytes[self->n++] = (uint8_t)otherwise;
    return 0;
}

/* ---- print() ------------------------------------------------------------------- */

enum { OPTION_SEP, OPTION_END, OPTION_FILE, OPTION_FLUSH, OPTION_COUNT };
static const char *const option_name[OPTION_COUNT] = {"sep", "end", "file", "flush"};

/* Borrowed; NULL: not given. -> false: some name is none of these. */
static bool options_read(PyObject *const *value, PyObject *names,
                         PyObject *ret_option[OPTION_COUNT])
{
    Py_ssize_t count = names != NULL ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int option = 0;
        while (option < OPTION_COUNT && PyUnicode_CompareWithASCIIString(
                                            PyTuple_GetItem(names, i), option_name[option]) != 0) {
            option++;
        }
        if (option == OPTION_COUNT) {
            return false;
        }
        ret_option[option] = value[i];
    }
    return true;
}

/* -> the stream to print to; -1: Python's own print shall do it, or say what is wrong. */
static int py_stream_of(PyObject *const option[OPTION_COUNT])
{
    if ((option[OPTION_SEP] != NULL && !PyUnicode_CheckExact(option[OPTION_SEP])) ||
        (option[OPTION_END] != NULL && !PyUnicode_CheckExact(option[OPTION_END])) ||
        (option[OPTION_FLUSH] != NULL && !PyBool_Check(option[OPTION_FLUSH])) ||
        forked_is_child()) {
        return -1;
    }
    return stream_if_ours(option[OPTION_FILE] != NULL
                              ? option[OPTION_FILE]
                              : PyDict_GetItem(print.sys_b, print.stdout_name));
}

static PyObject *py_print_originally(PyObject *const *value, Py_ssize_t count, PyObject *names)
{
    PyObject *result = NULL;
    PyObject *values = PyTuple_New(count);
    PyObject *options = names != NULL ? PyDict_New() : NULL;
    int error = values != NULL && (options != NULL || names == NULL) ? 0 : -1;
    for (Py_ssize_t i = 0; error == 0 && i < count; i++) {
        error = PyTuple_SetItem(values, i, Py_NewRef(value[i]));
    }
    for (Py_ssize_t i = 0; error == 0 && options != NULL && i < PyTuple_Size(names); i++) {
        error = PyDict_SetItem(options, PyTuple_GetItem(names, i), value[count + i]);
    }
    if (error == 0) {
        result = PyObject_Call(print.original, values, options);
    }
    Py_XDECREF(values);
    Py_XDECREF(options);
    return result;
}

static PyObject *py_print(PyObject *module, PyObject *const *value, Py_ssize_t count,
                          PyObject *names)
{
    PyObject *option[OPTION_COUNT] = {NULL};
    struct line line; /* not zeroed: most lines are short */
    (void)module;
    line.n = 0;
    line.stream = options_read(value + count, names, option) ? py_stream_of(option) : -1;
    if (line.stream < 0) {
        return py_print_originally(value, count, names);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((i > 0 && py_line_put_between(&line, option[OPTION_SEP], ' ') != 0) ||
            py_line_put_value(&line, value[i]) != 0) {
            return NULL;
        }
    }
    if (py_line_put_between(&line, option[OPTION_END], '\n') != 0 || py_line_say(&line) != 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- making it ------------------------------------------------------------------- */

/* One attribute of Python's own print, a str. */
static int py_put_attribute(struct buffer *buffer, const char *name)
{
    PyObject *text = PyObject_GetAttrString(print.original, name);
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (utf8 != NULL) {
        buffer_put_text(buffer, utf8);
    }
    Py_XDECREF(text);
    return utf8 != NULL ? 0 : -1;
}

/* Signature and docstring in one, as PyMethodDef wants them. */
static int py_put_doc(struct buffer *doc)
{
    buffer_put_text(doc, "print");
    if (py_put_attribute(doc, "__text_signature__") != 0) {
        return -1;
    }
    buffer_put_text(doc, "\n--\n\n");
    if (py_put_attribute(doc, "__doc__") != 0) {
        return -1;
    }
    buffer_put_char(doc, '\0');
    return 0;
}

/* A copy of the original that calls py_print. */
static PyObject *py_print_new(PyObject *builtins)
{
    static PyMethodDef method = {"print", (PyCFunction)(void (*)(void))py_print,
                                 METH_FASTCALL | METH_KEYWORDS, NULL};
    if (py_put_doc(&print.doc) == 0) {
        method.ml_doc = (const char *)print.doc.p;
    } else {
        PyErr_Clear(); /* a Python built without docstrings */
    }
    PyObject *name = PyUnicode_FromString("builtins");
    PyObject *self = name != NULL ? PyCFunction_NewEx(&method, builtins, name) : NULL;
    Py_XDECREF(name);
    return self;
}

int py_print_init(void)
{
    PyObject *builtins_b = PyImport_AddModule("builtins");
    PyObject *sys_b = PyImport_AddModule("sys");
    if (builtins_b == NULL || sys_b == NULL) {
        return -1;
    }
    print.sys_b = PyModule_GetDict(sys_b);
    print.stdout_name = PyUnicode_InternFromString("stdout");
    print.original = PyObject_GetAttrString(builtins_b, "print");
    if (print.stdout_name == NULL || print.original == NULL) {
        return -1;
    }
    if (!PyCFunction_CheckExact(print.original)) {
        return 0; /* sitecustomize has put one of the user's there */
    }
    PyObject *ours = py_print_new(builtins_b);
    int error = ours != NULL ? PyObject_SetAttrString(builtins_b, "print", ours) : -1;
    Py_XDECREF(ours);
    return error;
}
