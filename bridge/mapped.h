#ifndef BRIDGE_MAPPED_H
#define BRIDGE_MAPPED_H

/*
 * Bytes of a large request for Python, where they lie instead of copied.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/link.h"

/*
 * -> a read-only memoryview of bytes in a mapping, which stays as long as the
 * view and what is made of it, also in a forked child; NULL with an exception.
 */
PyObject *py_mapped_view(struct link_mapping *mapping, struct slice bytes);

#endif
