#ifndef BRIDGE_FRAMES_LOOP_H
#define BRIDGE_FRAMES_LOOP_H

/*
 * The worker of `einkorn frames`: opens the channel (or dials the host), shakes
 * hands, serves requests one at a time until the host ends them or itself.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * `module` is _einkorn, `library` the directory of the Python half. Main thread. Ends the
 * process with status 70 if a host that shall be dialled cannot be had. -> 0: the session
 * is over, -1 with an exception.
 */
int py_frames_run(PyObject *module, const char *library);

#endif
