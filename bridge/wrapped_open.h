#ifndef BRIDGE_WRAPPED_OPEN_H
#define BRIDGE_WRAPPED_OPEN_H

/*
 * A builtins.open that has its results looked at. In C, so that an open which
 * fails has no frame of ours in its traceback.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * A function that does what io.open does and returns opened(file, args, kwargs), or `file`
 * where that raises an Exception. One per process. -> new, NULL with an exception.
 */
PyObject *py_wrapped_open(PyObject *opened);

#endif
