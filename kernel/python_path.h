#ifndef KERNEL_PYTHON_PATH_H
#define KERNEL_PYTHON_PATH_H

/*
 * The Python that is meant: `wanted` (--python), or where that is NULL the
 * active virtual environment's (VIRTUAL_ENV), or python3. A name without a
 * slash is looked for on PATH, and stays as it is if it is not there: whoever
 * runs it says so. Owned by the caller.
 */
char *python_path(const char *wanted);

#endif
