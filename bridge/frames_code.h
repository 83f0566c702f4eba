#ifndef BRIDGE_FRAMES_CODE_H
#define BRIDGE_FRAMES_CODE_H

/* Compiles the cells of `einkorn frames`. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

int py_frames_code_init(void); /* -> 0, -1 with an exception */

/*
 * The whole text as an expression, or else as statements, named `file`. -> code, or NULL with
 * the exception of the statements.
 */
PyObject *py_frames_compile(PyObject *text, PyObject *file, bool *ret_is_expression);

#endif
