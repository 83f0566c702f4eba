#ifndef BRIDGE_TAPE_H
#define BRIDGE_TAPE_H

/*
 * The tape keeps what is written to sys.stdout and sys.stderr while it runs, for IPython's
 * %notebook, which asks afterwards for the output of each cell. IPython itself puts a function
 * of its own over the streams' `write`; print() would then write in pieces, and slowly.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/slice.h"

/* Keeps a str that was written to PORT_STDOUT or PORT_STDERR, so far as there is room. -> 0, -1. */
int py_tape_put(int stream, PyObject *text);

/* The same for UTF-8. */
void tape_put_utf8(int stream, struct slice text);

/*
 * `_einkorn.tape(room)`: returns what is on the tape, a list of (stream, text) in the order of
 * writing, and goes on with an empty one of `room` bytes; 0 stops it. `stream` is PORT_STDOUT or
 * PORT_STDERR.
 */
PyObject *py_tape(PyObject *module, PyObject *room);

#endif
