#ifndef BRIDGE_CODE_H
#define BRIDGE_CODE_H

/*
 * A cell's text as code: its statements, and apart from them the expression at its
 * end, whose value is echoed. `from __future__ import …` holds for the cells after it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Zero-initialise. Each is a code object, or NULL: there is none. */
struct code {
    PyObject *body;
    PyObject *last;
};

/* Once. -> 0, -1 with an exception. */
int py_code_init(void);

/* Compiles a str under this file name. -> 0, -1 with an exception (mostly SyntaxError). */
int py_code_compile(PyObject *text, PyObject *file, struct code *ret_code);
void py_code_release(struct code *self);

/* The CO_FUTURE_* flags of the session so far. */
long code_future_flags(void);

/* Whether evaluating this code object makes a coroutine: top-level await. */
bool py_code_awaits(PyObject *code);

#endif
