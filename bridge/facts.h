#ifndef BRIDGE_FACTS_H
#define BRIDGE_FACTS_H

/*
 * What the reply of a Jupyter cell says in metadata.einkorn beside its times: what
 * the cell used, and with --facts which files it read and what it left changed. How
 * `einkorn frames` tells the same is its protocol's affair (frames_cell.c).
 */

#include "bridge/usage.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/buffer.h"

/*
 * From now on all of it is told. The callables are the guards' (guards.h), `library` is the
 * half's directory (str). -> 0, -1 with an exception.
 */
int py_facts_watch(PyObject *figures, PyObject *report, PyObject *library);

/* A cell begins. Leaves no exception. */
void py_facts_begin(struct usage_mark *ret_begin);

/* Its code runs next, compiled as `file` (str). Leaves no exception. */
void py_facts_run(PyObject *file);

/* It is over: appends an object. Leaves no exception. */
void py_facts_put(const struct usage_mark *begin, struct buffer *json);

#endif
