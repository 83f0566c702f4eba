#ifndef BRIDGE_PARENT_H
#define BRIDGE_PARENT_H

/*
 * The message in whose name something is said, as Python code knows it: what
 * get_parent() of ipykernel returns, and what a comm's handler is called with.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/slice.h"

/* The JSON texts of a request, each an object. Borrowed. */
struct parent_text {
    struct slice header;
    struct slice metadata;
    struct slice content;
};

/*
 * A new dict: header, msg_id, msg_type, parent_header, metadata, content (Messaging spec,
 * "General Message Format"), and buffers, an empty list.
 */
PyObject *py_parent_new(const struct parent_text *text);

#endif
