#ifndef BRIDGE_AUDIT_H
#define BRIDGE_AUDIT_H

/*
 * Python's audit events (PEP 578), for those of our parts that listen to some: one
 * hook in C, which costs every other event a few comparisons of letters. It cannot
 * be removed any more, by nobody.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Installs the hook, unless it is. Main thread. -> 0, -1 with an exception: it does not hear. */
int py_audit_install(void);

/*
 * Installs the hook, and from now on `listener(*args)` is called at events of that name, in any
 * thread, in the frame that does what the event is about; what it raises is raised there. In place
 * of the one before; None: no more. At most AUDIT_LISTENERS names. -> 0, -1 with an exception.
 */
enum { AUDIT_LISTENERS = 8 };
int py_audit_listen(PyObject *name, PyObject *listener);

#endif
