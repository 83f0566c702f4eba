#ifndef KERNELSPEC_PROBE_H
#define KERNELSPEC_PROBE_H

/*
 * Asks a Python what it is, by running kernelspec/probe.py in it.
 */

#include "kernel/paths.h"

/* What a Python says of itself. */
struct probe {
    char *executable; /* absolute; a virtual environment's own bin/python, links kept */
    char *prefix;     /* sys.prefix */
    char *base;       /* sys.base_prefix: another one in a virtual environment */
    char *version;    /* "3.11.7" */
    char *libpython;  /* absolute; "" where all is in the executable */
};

enum { PROBE_ERROR_MAX = 1024 };

/*
 * `python` is a path, or a name that is nowhere on PATH. A Python that Einkorn cannot use (broken,
 * older than 3.11, free-threaded, not CPython) is an error too. The text says what is wrong and
 * what to do, in one line.
 * -> 0, -1 and the text.
 */
int probe_init(struct probe *ret_probe, const char *python, const struct paths *paths,
               char ret_error[PROBE_ERROR_MAX]);
void probe_release(struct probe *self);

/* Byte-compiles a directory for that Python. Where it cannot be written, Python does without. */
void probe_compile(const struct probe *self, const char *dir);

#endif
