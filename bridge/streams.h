#ifndef BRIDGE_STREAMS_H
#define BRIDGE_STREAMS_H

/*
 * sys.stdout and sys.stderr of cells. Each is a text stream like any other to
 * the code that uses it (io.TextIOBase, with `buffer`, `encoding`, `fileno`
 * …), but what is written goes to the speaker of the moment and is seen at
 * once: there is nothing to flush. Closing one does nothing, so that a cell
 * that wraps and closes it does not silence the next.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Makes both and puts them into sys. -> 0, -1 with an exception. */
int py_streams_init(void);

/* PORT_STDOUT or PORT_STDERR. Borrowed, never NULL after init. */
PyObject *stream_object_b(int stream);

/*
 * PORT_STDOUT or PORT_STDERR, if this is that text stream and its `write` was not
 * replaced by the user; else -1. NULL-safe.
 */
int stream_if_ours(PyObject *file);

/*
 * Flushes the Python-level files that the user may have put over fd 1 and 2:
 * sys.stdout, sys.stderr where they are not ours, sys.__stdout__, sys.__stderr__.
 * -> 0, -1: with KeyboardInterrupt set; other exceptions are the file's affair.
 */
int py_streams_flush_others(void);

#endif
