#ifndef BRIDGE_FRAMES_REQUESTS_H
#define BRIDGE_FRAMES_REQUESTS_H

/*
 * What a host asks for: `execute`, `inspect_variables`, `shutdown`.
 */

#include "bridge/py_compat.h"

/* A request, a dict. -> 0; 1: it was the last one; -1 with an exception: it has no answer. */
int py_frames_serve(PyObject *request);

/* The same for a line (bytes), an object, that there was no memory to read. */
int py_frames_refuse_unread(PyObject *line);

/* The answer to a line that is no request: it has an id that nobody knows, and no cell. -> 0, -1.
 */
int py_frames_refuse_line(void);

#endif
