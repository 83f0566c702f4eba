#ifndef BRIDGE_PY_JSON_PLAIN_H
#define BRIDGE_PY_JSON_PLAIN_H

/*
 * JSON of plain values: str, int, float, bool, None, and lists, tuples and dicts of these with
 * str keys, all of exactly these types. Written as json.dumps writes it with
 * ensure_ascii=False, NaN and Infinity too; nobody's code runs, and it takes a quarter of the
 * time.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "bridge/buffer.h"

/* Appends it. -> false: it is not plain; the buffer is as before, and there is no exception. */
bool py_json_plain_put(struct buffer *buffer, PyObject *value);

#endif
