/* builtins.open: see wrapped_open.h. Worker, any thread with the GIL; owns both functions. */

#include "bridge/wrapped_open.h"

static struct {
    PyObject *open; /* io.open */
    PyObject *opened;
} wrapped;

static PyObject *py_open(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    PyObject *file = PyObject_Call(wrapped.open, args, kwargs);
    if (file == NULL) {
        return NULL;
    }
    PyObject *names = kwargs != NULL ? Py_NewRef(kwargs) : PyDict_New();
    PyObject *instead = names != NULL
                            ? PyObject_CallFunctionObjArgs(wrapped.opened, file, args, names, NULL)
                            : NULL;
    Py_XDECREF(names);
    if (instead == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        return file;
    }
    Py_DECREF(file);
    return instead; /* or an interrupt */
}

PyObject *py_wrapped_open(PyObject *opened)
{
    static PyMethodDef definition = {
        "open", (PyCFunction)(void (*)(void))py_open, METH_VARARGS | METH_KEYWORDS,
        "open(file, mode='r', buffering=-1, encoding=None, errors=None, newline=None, "
        "closefd=True, opener=None)\n--\n\nOpen file and return a stream.  Raise OSError upon "
        "failure.  See io.open."};
    PyObject *io = PyImport_ImportModule("io");
    PyObject *open = io != NULL ? PyObject_GetAttrString(io, "open") : NULL;
    PyObject *home = open != NULL ? PyUnicode_FromString("builtins") : NULL;
    PyObject *function = home != NULL ? PyCFunction_NewEx(&definition, NULL, home) : NULL;
    if (function != NULL) {
        wrapped.open = Py_NewRef(open);
        wrapped.opened = Py_NewRef(opened);
    }
    Py_XDECREF(io);
    Py_XDECREF(open);
    Py_XDECREF(home);
    return function;
}
