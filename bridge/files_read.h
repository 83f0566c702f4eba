#ifndef BRIDGE_FILES_READ_H
#define BRIDGE_FILES_READ_H

/*
 * Which files a cell reads. Seen by Python's own audit events, at the attempt to
 * open: what the source of the cell might read counts for nothing. An open counts
 * when it can read and a frame of the cell stands behind it in the same thread,
 * so neither a child process nor an older thread adds to a cell's files.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { FILES_READ_MAX = 256, FILES_READ_PATH_MAX = 1024 /* characters */ };

/*
 * Takes the current directory for the one that paths are told from. What is opened
 * below `library`, the directory of our own Python half, is not told. -> 0, -errno.
 */
int files_read_init(const char *library);

/* A cell compiled as `file` begins. */
void py_files_read_begin(PyObject *file);

/*
 * It is over. -> a new list of relative paths, each once, in the order in which they came
 * first; empty if none began. NULL with an exception.
 */
PyObject *py_files_read_end(void);

/* An audit event `open` with these arguments (a tuple). Never leaves an exception. */
void py_files_read_opened(PyObject *args);

#endif
