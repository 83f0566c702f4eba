#ifndef BRIDGE_FRAMES_HOST_CALL_H
#define BRIDGE_FRAMES_HOST_CALL_H

/*
 * Calls of the host: one request, one answer, in the middle of a cell or in a
 * thread. One call is under way at a time; others wait for it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Publishes sys._openai4s_host_call_lock. -> 0, -1 with an exception. */
int py_host_call_init(void);

/*
 * Asks the host; `args` is a list. What it answers, new. NULL: RuntimeError (the host's
 * error, a desync, its end, a forked child), ValueError (too big; nothing was written), what
 * cannot be written as JSON, or what a signal's handler raised: then the call is abandoned.
 */
PyObject *py_host_call(PyObject *method, PyObject *args, PyObject *cell_id);

#endif
