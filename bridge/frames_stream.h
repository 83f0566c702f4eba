#ifndef BRIDGE_FRAMES_STREAM_H
#define BRIDGE_FRAMES_STREAM_H

/*
 * sys.stdout and sys.stderr of a cell of `einkorn frames`: io.StringIO to look
 * at (no `buffer`, no `fileno`), but for what is over FRAME_OUTPUT_MAX characters,
 * which is counted as written and forgotten. stdout also says each write at
 * once, in stdout_chunk frames that together are what it captures.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Makes the type. -> 0, -1 with an exception. */
int py_frames_stream_init(void);

/* A stream; `chunks_of` is the id of the cell whose chunks it sends, NULL: it sends none. */
PyObject *py_frames_stream_new(PyObject *chunks_of);

/* All that it captured, with the marker if something was cut: a new str. */
PyObject *py_frames_stream_text(PyObject *stream);

#endif
