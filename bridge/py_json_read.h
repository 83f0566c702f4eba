#ifndef BRIDGE_PY_JSON_READ_H
#define BRIDGE_PY_JSON_READ_H

/*
 * JSON into Python's values: as json.loads reads it, by the scanner that is behind it, without
 * the rest of `json`; or the texts alone, by C.
 */

#include "bridge/py_compat.h"

/* `scanner` is one of _json.make_scanner's. */
void py_json_read_init(PyObject *scanner);

/* What a line (bytes) says. -> NULL with an exception: it is no JSON, or there is no memory. */
PyObject *py_json_read(PyObject *line);

/* What a raw string, with its quotes, says. New, or NULL. */
PyObject *py_json_text(struct slice raw);

/* The members of an object, which is valid, that are texts. -> a dict, or NULL. */
PyObject *py_json_texts(struct slice object);

#endif
