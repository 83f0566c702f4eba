/*
 * The names of ipykernel's streams: see outstream.h. They are descriptors of the type,
 * not looked up where nothing else was found: a type with a lookup of its own makes
 * CPython's fast ways past write() slow. Worker, any Python thread.
 */

#include "bridge/outstream.h"

static PyObject *py_call(const char *function, PyObject *self, const char *name, PyObject *value)
{
    PyObject *module = PyImport_ImportModule("einkorn.outstream");
    PyObject *result = module == NULL ? NULL
                       : value == NULL
                           ? PyObject_CallMethod(module, function, "Os", self, name)
                           : PyObject_CallMethod(module, function, "OsO", self, name, value);
    Py_XDECREF(module);
    return result;
}

PyObject *py_outstream_get(PyObject *self, void *name)
{
    return py_call("get", self, name, NULL);
}

int py_outstream_set(PyObject *self, PyObject *value, void *name)
{
    PyObject *done = py_call(value != NULL ? "set" : "delete", self, name, value);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}
