#ifndef BRIDGE_GUARDS_H
#define BRIDGE_GUARDS_H

/*
 * What a cell leaves changed in the process: the environment, the filters of `warnings` and
 * pyplot's figures. It is told, never put back. OPENAI4S_GUARDS_OFF=1 turns it off, from the
 * next look on.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * Callables of the Python half (frames/guards.py): figures(module) and report(before, now).
 * Once, before the first look. -> 0, -1 with an exception.
 */
int py_guards_init(PyObject *figures, PyObject *report);

/* Before a cell: remembers how things stand. -> 0, -1 with an exception. */
int py_guards_begin(void);

/* When it is over. -> a dict, empty if nothing is changed or nobody wants to know; NULL. */
PyObject *py_guards_end(void);

#endif
