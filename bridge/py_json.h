#ifndef BRIDGE_PY_JSON_H
#define BRIDGE_PY_JSON_H

/*
 * Python values as JSON text, without Python's json module: contents of
 * messages are made where they arise. Always valid JSON and valid UTF-8.
 */

#include "bridge/py_compat.h"

/*
 * Appends a value. str (a lone surrogate: U+FFFD), int, float (NaN and
 * infinities: null), bool, None, mappings (keys made str), other iterables,
 * bytes-like (base64 in a string), what has __index__ (as an int); anything
 * else as str(value). -> 0, -1: with an exception of the value's own code, or
 * RecursionError; the buffer then holds a piece of text that is no JSON.
 */
int py_json_put(struct buffer *buffer, PyObject *value);

/* The same for a str, which runs nobody's code. */
int py_json_put_text(struct buffer *buffer, PyObject *text);

#endif
