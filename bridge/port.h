#ifndef BRIDGE_PORT_H
#define BRIDGE_PORT_H

/*
 * Who asks for cells and hears what they say. The runner knows only this
 * table; port_link.c is the one that stands behind it in a Jupyter kernel.
 * Every function needs the GIL, may give it up while it waits, and returns 0,
 * or -1 with an exception set. `request` is the number that the asker gave.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum { PORT_STDOUT = 0, PORT_STDERR = 1, PORT_STREAMS = 2 };

struct port {
    /* Text of a stream: valid UTF-8, seen as soon as this returns. */
    int (*py_stream)(uint64_t request, int stream, struct slice text);

    /* A message for everybody: type, metadata, content (finished JSON), buffers. */
    int (*py_publish)(uint64_t request, const struct slice *part, size_t count);

    /*
     * Asks the user; `content` is that of an input_request (messaging spec,
     * "Messages on the stdin (ROUTER/DEALER) channel"). -> the line, a new str.
     */
    PyObject *(*py_ask)(uint64_t request, struct slice content);

    /*
     * A request that overtook another one is taken up: it has the word until its answer.
     * Of the cell that runs: it awaits, and hears all comm messages meanwhile.
     */
    int (*py_begin)(uint64_t request);

    /*
     * What the asker knows of a request: the last one of "control", or the "message" of
     * that msg_id. -> a new str, a JSON object: number (0: nobody can speak in its name any
     * more), identities (hexadecimal), header; empty where it knows none.
     */
    PyObject *(*py_lookup)(struct slice kind, struct slice msg_id);

    /*
     * The one answer to a request: reply content and metadata; "ok", "error", or
     * "exit" (ok, and the user wants the session to end).
     */
    int (*py_done)(uint64_t request, struct slice content, struct slice metadata,
                   const char *status);
};

#endif
