#ifndef BRIDGE_FRAMES_API_H
#define BRIDGE_FRAMES_API_H

/*
 * The functions of `_einkorn` in a worker of `einkorn frames`, in place of those of
 * api.h. Their docstrings say how they are called.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef frames_api_methods[];

#endif
