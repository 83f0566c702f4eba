/*
 * Names and entries of inspect_variables: see variables.h. Values are held while
 * they are looked at, since the garbage collector may run finalizers in between.
 * Worker, main thread; owns nothing.
 */

#include "bridge/variables.h"

#include <stdbool.h>

#include "bridge/variables_summary.h"

enum { NAME_MAX_CHARACTERS = 160 };

static bool py_begins_with(PyObject *name, const char *prefix)
{
    PyObject *text = PyUnicode_FromString(prefix);
    Py_ssize_t found =
        text != NULL ? PyUnicode_Tailmatch(name, text, 0, PY_SSIZE_T_MAX, -1 /* at its begin */)
                     : -1;
    Py_XDECREF(text);
    return found != 0; /* in doubt it is hidden */
}

/* Of the kernel's own, or of what a host binds for the user. */
static bool py_is_hidden(PyObject *name)
{
    static const char *const names[] = {"host", "openai4s"};
    static const char *const prefixes[] = {"__", "_o4s_", "_OpenAI4S"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (py_begins_with(name, prefixes[i])) {
            return true;
        }
    }
    return false;
}

/*
 * (name, value) pairs, sorted. A look-up by name could meet a key with an __eq__ of its
 * own; going through the dict does not. No two names are equal, so no values are compared.
 */
static PyObject *py_pairs(PyObject *namespace)
{
    PyObject *names = PyDict_Copy(namespace); /* which no finalizer can change meanwhile */
    PyObject *pairs = names != NULL ? PyList_New(0) : NULL;
    Py_ssize_t at = 0;
    PyObject *name_b = NULL;
    PyObject *value_b = NULL;
    while (pairs != NULL && PyDict_Next(names, &at, &name_b, &value_b)) {
        if (!PyUnicode_CheckExact(name_b) || py_is_hidden(name_b)) {
            continue;
        }
        PyObject *pair = PyTuple_Pack(2, name_b, value_b);
        if (pair == NULL || PyList_Append(pairs, pair) != 0) {
            Py_CLEAR(pairs);
        }
        Py_XDECREF(pair);
    }
    Py_XDECREF(names);
    if (pairs != NULL && (PyErr_Occurred() != NULL || PyList_Sort(pairs) != 0)) {
        Py_CLEAR(pairs);
    }
    return pairs;
}

/* Read where the type keeps it, past its metaclass. A new str. */
static PyObject *py_type_name(PyObject *value)
{
    PyObject *name = PyType_GetName(Py_TYPE(value));
    PyObject *shown = NULL;
    if (name != NULL) {
        shown = PyUnicode_CheckExact(name) && PyUnicode_GetLength(name) > 0
                    ? PyUnicode_Substring(name, 0, NAME_MAX_CHARACTERS)
                    : PyUnicode_FromString("object");
    }
    Py_XDECREF(name);
    return shown;
}

static PyObject *py_entry(PyObject *name, PyObject *value)
{
    PyObject *entry =
        Py_BuildValue("{s:N,s:N}", "name", PyUnicode_Substring(name, 0, NAME_MAX_CHARACTERS),
                      "type", py_type_name(value));
    if (entry != NULL && py_variable_summarize(entry, value) != 0) {
        Py_CLEAR(entry);
    }
    return entry;
}

static PyObject *py_entries(PyObject *pairs, Py_ssize_t n)
{
    PyObject *entries = PyList_New(0);
    for (Py_ssize_t i = 0; i < n && entries != NULL; i++) {
        PyObject *pair_b = PyList_GetItem(pairs, i);
        PyObject *entry = py_entry(PyTuple_GetItem(pair_b, 0), PyTuple_GetItem(pair_b, 1));
        if (entry == NULL || PyList_Append(entries, entry) != 0) {
            Py_CLEAR(entries);
        }
        Py_XDECREF(entry);
    }
    return entries;
}

PyObject *py_variables(PyObject *namespace, long limit)
{
    PyObject *pairs = py_pairs(namespace);
    if (pairs == NULL) {
        return NULL;
    }
    Py_ssize_t there = PyList_Size(pairs);
    PyObject *entries = py_entries(pairs, there < limit ? there : limit);
    PyObject *answer = entries != NULL
                           ? Py_BuildValue("{s:O,s:O,s:l}", "variables", entries, "truncated",
                                           there > limit ? Py_True : Py_False, "limit", limit)
                           : NULL;
    Py_XDECREF(entries);
    Py_DECREF(pairs);
    return answer;
}
