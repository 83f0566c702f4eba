#ifndef BRIDGE_VARIABLES_SUMMARY_H
#define BRIDGE_VARIABLES_SUMMARY_H

/*
 * What is said of one value beside its name and type. A fingerprint is the SHA-256
 * of a text that stands for the value, bounded where the value is large; a preview
 * is its begin.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * Adds kind, length, preview and fingerprint, as they apply, to `entry`; nothing if the
 * value's type is not exactly a built-in one. None of the value's own code runs.
 * -> 0, -1 with an exception.
 */
int py_variable_summarize(PyObject *entry, PyObject *value);

#endif
