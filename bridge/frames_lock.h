#ifndef BRIDGE_FRAMES_LOCK_H
#define BRIDGE_FRAMES_LOCK_H

/* A lock of Python's that sys shows, for whoever speaks the protocol too. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

struct frames_lock {
    PyObject *acquire; /* methods */
    PyObject *release;
};

/* Makes it, under that name in sys. For good. -> 0, -1. */
int py_frames_lock_init(struct frames_lock *self, const char *name);

/* Waits as Python does: a signal's handler may raise. -> 0, -1. */
int py_frames_lock_take(const struct frames_lock *self);

/* Does not wait, and raises nothing. -> true: it is ours. */
bool py_frames_lock_try(const struct frames_lock *self);

/* Raises nothing: a cell may have given it already. An exception that is set stays set. */
void py_frames_lock_give(const struct frames_lock *self);

#endif
