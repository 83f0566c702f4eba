#ifndef BRIDGE_FRAMES_NAMES_H
#define BRIDGE_FRAMES_NAMES_H

/* Names that are looked up for every request, as str objects made once. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum frames_name {
    NAME_CODE,
    NAME_DATA,
    NAME_ERROR,
    NAME_HOST,
    NAME_ID,
    NAME_LIMIT,
    NAME_ORIGIN,
    NAME_PROTOCOL_STDIN,
    NAME_PROTOCOL_STDOUT,
    NAME_STDERR,
    NAME_STDOUT,
    NAME_TYPE,
    NAMES
};

/* Makes them. -> 0, -1 with an exception. */
int py_frames_names_init(void);

/* What a dict has under the name, or NULL without an exception. Borrowed. */
PyObject *py_named_b(PyObject *dict, enum frames_name name);

/* As PySys_GetObject. Borrowed. */
PyObject *py_sys_b(enum frames_name name);

/* Sets it in sys. -> what was there before, new, None: nothing; NULL. */
PyObject *py_sys_exchange(enum frames_name name, PyObject *value);

/* Has `sys` show it under that name. Takes `value`; NULL is the error that made it. -> 0, -1. */
int py_sys_set(const char *name, PyObject *value);

#endif
