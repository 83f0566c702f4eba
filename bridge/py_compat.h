#ifndef BRIDGE_PY_COMPAT_H
#define BRIDGE_PY_COMPAT_H

/*
 * The few things that the limited API lacks. The context functions exist in
 * every CPython from 3.7 to today but were never made part of it; they are
 * looked up by name once, and where one is missing the Python-level method
 * does the same, slower.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "bridge/buffer.h"

/* Finds the symbols. -> 0, -1 with an exception. */
int py_compat_init(void);

PyObject *py_context_new(void);
PyObject *py_var_new(const char *name);
int py_var_get(PyObject *var, PyObject **ret_value); /* NULL where it is not set. -> 0, -1 */
int py_var_set(PyObject *var, PyObject *value);      /* in the current context. -> 0, -1 */

/* The exception that is set, with its traceback in place; NULL if there is none. */
PyObject *py_exception_take(void);

/*
 * A str as UTF-8 in which each lone surrogate is U+FFFD. The slice points into
 * the str, or into the buffer where there were surrogates. -> 0, -1.
 */
int py_text_utf8(PyObject *text, struct buffer *buffer, struct slice *ret_utf8);

/* The same, at the end of the buffer. Takes `text`; NULL is the error that made it. -> 0, -1. */
int py_text_put(struct buffer *buffer, PyObject *text);

/* Whether a value (NULL: there is none) is a str, and that text. */
bool py_text_is(PyObject *value, const char *ascii);

/* UTF-8 in which surrogates may stand ("surrogatepass") as a str. */
PyObject *py_text_from(struct slice utf8);

#endif
