#ifndef BRIDGE_VARIABLES_SCALAR_H
#define BRIDGE_VARIABLES_SCALAR_H

/*
 * What stands for a scalar: None, and what is exactly a bool, int, float, str or
 * bytes. The token is the text whose SHA-256 is its fingerprint; the preview is a
 * value that JSON can show. Both are bounded.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/buffer.h"

struct scalar {
    const char *kind;
    int (*py_put_token)(struct buffer *token, PyObject *value); /* -> 0, -1 */
    PyObject *(*py_preview)(PyObject *value);                   /* new */
};

/* NULL: it is none. */
const struct scalar *scalar_of(PyObject *value);

#endif
