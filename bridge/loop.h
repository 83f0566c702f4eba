#ifndef BRIDGE_LOOP_H
#define BRIDGE_LOOP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * Serves requests until the kernel closes the door, each by the handler that a
 * table names for its type. Main thread, after everything else is in place.
 * -> 0: the end, -1 with an exception: the worker can not go on.
 */
int py_loop_run(void);

#endif
