#ifndef BRIDGE_VARIABLES_H
#define BRIDGE_VARIABLES_H

/*
 * What the variables of a namespace are, for somebody who looks on (a request
 * inspect_variables). Nothing of a value's own code runs, nor of its class's or
 * metaclass's: contents are shown of values whose type is exactly a built-in
 * one, of all others the name of the type.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * {"variables": [...], "truncated": bool, "limit": limit} of the first `limit` names
 * in their order. An entry has `name` and `type`, and for exact built-ins `kind`, and
 * as it applies `length`, `preview`, `fingerprint` (docs/frames-facts.md). Names that are
 * not the user's are left out. Main thread. -> new dict, NULL with an exception.
 */
PyObject *py_variables(PyObject *namespace, long limit);

#endif
