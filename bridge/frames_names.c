/* Names made once: see frames_names.h. Worker, any thread with the GIL; owns the names. */

#include "bridge/frames_names.h"

static PyObject *names[NAMES];
static PyObject *sys; /* the dict of the module */

static const char *const texts[NAMES] = {
    [NAME_CODE] = "code",
    [NAME_DATA] = "data",
    [NAME_ERROR] = "error",
    [NAME_HOST] = "host",
    [NAME_ID] = "id",
    [NAME_LIMIT] = "limit",
    [NAME_ORIGIN] = "origin",
    [NAME_PROTOCOL_STDIN] = "_openai4s_protocol_stdin",
    [NAME_PROTOCOL_STDOUT] = "_openai4s_protocol_stdout",
    [NAME_STDERR] = "stderr",
    [NAME_STDOUT] = "stdout",
    [NAME_TYPE] = "type",
};

int py_frames_names_init(void)
{
    PyObject *module = PyImport_ImportModule("sys");
    sys = module != NULL ? Py_NewRef(PyModule_GetDict(module)) : NULL;
    int error = sys != NULL ? 0 : -1;
    for (size_t i = 0; i < NAMES && error == 0; i++) {
        names[i] = PyUnicode_InternFromString(texts[i]);
        error = names[i] != NULL ? 0 : -1;
    }
    Py_XDECREF(module);
    return error;
}

PyObject *py_named_b(PyObject *dict, enum frames_name name)
{
    PyObject *value_b = PyDict_GetItemWithError(dict, names[name]);
    if (value_b == NULL) {
        PyErr_Clear(); /* of a key's own comparison */
    }
    return value_b;
}

PyObject *py_sys_b(enum frames_name name)
{
    return py_named_b(sys, name);
}

PyObject *py_sys_exchange(enum frames_name name, PyObject *value)
{
    PyObject *before_b = py_named_b(sys, name);
    PyObject *before = Py_NewRef(before_b != NULL ? before_b : Py_None);
    if (PyDict_SetItem(sys, names[name], value) != 0) {
        Py_CLEAR(before);
    }
    return before;
}

int py_sys_set(const char *name, PyObject *value)
{
    int error = value != NULL ? PySys_SetObject(name, value) : -1;
    Py_XDECREF(value);
    return error;
}
