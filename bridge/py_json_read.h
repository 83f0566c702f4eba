#ifndef BRIDGE_PY_JSON_READ_H
#define BRIDGE_PY_JSON_READ_H

/* JSON as json.loads reads it, by the scanner that is behind it, without the rest of `json`. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* `scanner` is one of _json.make_scanner's. */
void py_json_read_init(PyObject *scanner);

/* What a line (bytes) says. -> NULL with an exception: it is no JSON, or there is no memory. */
PyObject *py_json_read(PyObject *line);

#endif
