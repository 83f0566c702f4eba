#ifndef BRIDGE_FRAMES_WRITE_H
#define BRIDGE_FRAMES_WRITE_H

/*
 * Frames from the worker to its host: one JSON object, one line, whole or not at
 * all. No interrupt comes between its first byte and its last.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "bridge/buffer.h"

enum {
    FRAME_OUTPUT_MAX = 1000000, /* characters of a stream, or of an error's text */
    FRAME_CHUNK_MAX = 64000,    /* characters of one stdout_chunk */
    /* 3 fields of 1,000,000 characters, 6 bytes each at worst, and the rest */
    FRAME_MAX = 6 * 3 * FRAME_OUTPUT_MAX + 2000000,
    FRAME_CALL_MAX = 15000000, /* bytes of a host_call, without its newline */
};

/* What stands once at the end of a text that was cut. */
#define FRAME_MARKER "\n...(truncated at 1000000 characters)"

/* Publishes the lock in sys. -> 0, -1 with an exception. */
int py_frames_write_init(void);

/*
 * Appends what a frame says somewhere: plain values as Python's json writes them, so that a
 * host reads the same numbers (NaN, Infinity), but lone surrogates as U+FFFD; others by
 * py_json_put. -> 0, -1 with an exception.
 */
int py_frame_put(struct buffer *line, PyObject *value);

/*
 * A dict as a frame. One of more than FRAME_MAX bytes, or that cannot be written as JSON, is
 * replaced: a `response` keeps type and id, anything else becomes a `log`. Nothing happens in a
 * forked child. -> 0, -1 with an exception: the host cannot be written to.
 */
int py_frame_write(PyObject *frame);

/*
 * The same for a response whose text is made already, or could not be
 * made: `error` is not 0 then, with an exception. -> as above.
 */
int py_frame_respond(struct buffer *line, int error, PyObject *id, bool interrupted);

/* A stdout_chunk of the cell with this id. -> 0, -1. */
int py_frame_say(PyObject *cell_id, PyObject *text);

/* A `log`; the text as PyUnicode_FromFormat makes it. -> 0, -1. */
int py_frame_log(const char *format, ...);

/* A line that is a frame, of any size; a newline is added. -> 0, -1. */
int py_frame_send(struct buffer *line);

#endif
