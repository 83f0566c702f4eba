#ifndef BRIDGE_FRAMES_RESPONSE_H
#define BRIDGE_FRAMES_RESPONSE_H

/* What is said of a cell when it is over. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "bridge/usage.h"

struct response {
    PyObject *id;
    PyObject *out; /* streams; NULL: nothing was written */
    PyObject *err;
    PyObject *description; /* (error, error_lineno, error_call); NULL: with an exception */
    bool interrupted;
    PyObject *files_read; /* list, or NULL */
    struct usage used;
    PyObject *guards; /* dict, or NULL */
    PyObject *facts;  /* what stands beside: dict, or NULL */
};

/* -> 0, -1 with an exception: the host cannot be written to. */
int py_response_send(const struct response *self);

#endif
