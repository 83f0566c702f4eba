#ifndef BRIDGE_STREAM_SAY_H
#define BRIDGE_STREAM_SAY_H

/*
 * Says text on one of the streams of cells (PORT_STDOUT, PORT_STDERR): what the objects of
 * streams.h, and print, do when they write. It is seen at once; there is nothing to flush.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/slice.h"

/* Writes a str, as the stream's write does. -> 0, -1 with an exception. */
int py_stream_say(int stream, PyObject *text);

/* The same for valid UTF-8. -> 0, -1. */
int py_stream_say_utf8(int stream, struct slice text);

/* The same for bytes, which may end in the middle of a character: the next ones go on. -> 0, -1. */
int py_stream_say_bytes(int stream, struct slice bytes);

/* The cell is over: half a character that was written as bytes becomes U+FFFD. -> 0, -1. */
int py_streams_finish(void);

#endif
