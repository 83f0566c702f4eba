#ifndef BRIDGE_FRAMES_CELL_H
#define BRIDGE_FRAMES_CELL_H

/*
 * Runs one cell of `einkorn frames` and answers for it: the whole of it as an
 * expression, whose value's repr goes to stdout, or else as statements.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Makes the namespace __openai4s__. `mode` says whether there is a host. -> 0, -1. */
int py_frames_cell_init(const char *mode);

/* Its dict. Borrowed. */
PyObject *frames_namespace_b(void);

/* Whether cells have a host: not in the mode "jupyter". */
bool frames_have_host(void);

/* The cell that began last: its id and origin as they came, None before the first. Borrowed. */
PyObject *frames_cell_id_b(void);
PyObject *frames_cell_origin_b(void);

/*
 * Arms SIGINT for the cell that begins; where that is refused, which it is on any thread
 * but the main one, a `log` says that the cell cannot be interrupted. Never fails.
 */
void py_frames_cell_arm(void);

/*
 * Runs it and sends its response; what it raises is in there. In a forked child that runs
 * out of its cell it does not return. -> 0, -1 with an exception: there is no response.
 */
int py_frames_cell_run(PyObject *code, PyObject *id, PyObject *origin);

#endif
