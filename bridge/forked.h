#ifndef BRIDGE_FORKED_H
#define BRIDGE_FORKED_H

/*
 * Children that user code makes with os.fork(), multiprocessing's among them.
 * They share the worker's fd 1 and fd 2 but have no door: what they print goes
 * to the pipes in whole lines, so lines of several children do not mix, and a
 * child whose code runs out of its cell ends there instead of serving requests.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "bridge/buffer.h"
#include "bridge/link.h"

/* From now on a forked child is known as one, and loses these fds. -> 0, -errno. */
int forked_init(const struct link_fds *fds);

/* True in a forked child. */
bool forked_is_child(void);

/* Text of a child's stream; written once a line is whole. -> 0, -1 with an exception. */
int py_forked_put(int stream, struct slice bytes);
int py_forked_put_text(int stream, PyObject *text);
int py_forked_flush(int stream);

/*
 * The cell is over in a child: ends the process. Status as `python` would:
 * SystemExit's, 1 for other exceptions (described on fd 2), 0 for none.
 */
void py_forked_end(PyObject *exception, PyObject *describe) __attribute__((noreturn));

#endif
