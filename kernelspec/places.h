#ifndef KERNELSPEC_PLACES_H
#define KERNELSPEC_PLACES_H

/*
 * The kernelspecs of Einkorn that Jupyter can find.
 */

#include <stddef.h>

/* One of them. Everything is borrowed and valid during the call. */
struct place {
    const char *directory;
    const char *name;
    const char *program;   /* argv[0] */
    const char *python;    /* as pinned; NULL: none is */
    const char *libpython; /* as pinned; NULL: none is */
};

/*
 * Calls `visit` for each kernelspec that is ours, in the order in which
 * jupyter_core looks: $JUPYTER_PATH, the user's directory, the environment
 * `prefix` (NULL: none is known), /usr/local/share, /usr/share. -> how many.
 */
size_t places_each(const char *prefix, void (*visit)(const struct place *place, void *arg),
                   void *arg);

/* The first file that it names and that is gone; NULL: all are there. */
const char *place_gone(const struct place *self);

#endif
