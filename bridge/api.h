#ifndef BRIDGE_API_H
#define BRIDGE_API_H

/*
 * What the Python half may call: the functions of the module `_einkorn`. Their
 * docstrings say how; all of them speak as the current speaker.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/buffer.h"
#include "bridge/speaker.h"

/* What has nothing to do with who asks. */
extern PyMethodDef api_common_methods[];

/* What a Jupyter kernel's worker has beside, by its door; NULL at the end. */
extern PyMethodDef *const api_link_tables[];
extern PyMethodDef api_session_methods[];

/* A forked child has no connection: RuntimeError. -> 0, -1. */
int py_refuse_child(void);

/* {"ename": …, "evalue": …, "traceback": …} without its braces. -> 0, -1. */
int py_put_error(struct buffer *buffer, PyObject *ename, PyObject *evalue, PyObject *traceback);

/* An IOPub message with empty metadata and no buffers. -> 0, -1. */
int py_publish_text(struct speaker *speaker, const char *type, struct slice content);

#endif
