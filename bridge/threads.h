#ifndef BRIDGE_THREADS_H
#define BRIDGE_THREADS_H

/*
 * A Python thread speaks in the cell that started it. Before 3.14 a new thread
 * has an empty context, so the functions that start threads are wrapped: what
 * they run begins by taking over the starter's speaker.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Wraps them in `_thread`, and in `threading` where something imported it. -> 0, -1. */
int py_threads_init(void);

#endif
