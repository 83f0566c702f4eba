#ifndef BRIDGE_OUTSTREAM_H
#define BRIDGE_OUTSTREAM_H

/*
 * What ipykernel's streams have beside those of Python. The values are Python's matter
 * (python/einkorn/outstream.py), which is loaded by the first of these names that somebody
 * looks at or sets.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* For PyGetSetDef; the closure is the name. */
PyObject *py_outstream_get(PyObject *self, void *name);
int py_outstream_set(PyObject *self, PyObject *value, void *name);

#define OUTSTREAM_ATTRIBUTE(name)                                                                  \
    {                                                                                              \
#name, py_outstream_get, py_outstream_set, NULL, (void *)(uintptr_t) #name                 \
    }

/* Rows of the text streams' PyGetSetDef. */
#define OUTSTREAM_ATTRIBUTES                                                                       \
    OUTSTREAM_ATTRIBUTE(_is_master_process), OUTSTREAM_ATTRIBUTE(echo),                            \
        OUTSTREAM_ATTRIBUTE(flush_interval), OUTSTREAM_ATTRIBUTE(parent_header),                   \
        OUTSTREAM_ATTRIBUTE(pub_thread), OUTSTREAM_ATTRIBUTE(register_hook),                       \
        OUTSTREAM_ATTRIBUTE(reset_thread_parent), OUTSTREAM_ATTRIBUTE(session),                    \
        OUTSTREAM_ATTRIBUTE(set_parent), OUTSTREAM_ATTRIBUTE(set_thread_parent),                   \
        OUTSTREAM_ATTRIBUTE(topic), OUTSTREAM_ATTRIBUTE(unregister_hook)

#endif
