#ifndef BRIDGE_FRAMES_WAY_H
#define BRIDGE_FRAMES_WAY_H

/*
 * One of the two descriptors of the channel. Cells share the process and may close any
 * descriptor, put another file over it, or throw our file objects away: a number is ours
 * only while the file behind it is the one that we began with. A reserve, a second
 * descriptor of the same file, helps once.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>

#include "bridge/frames_names.h"

struct way {
    const char *name;         /* in messages */
    const char *object;       /* in sys */
    enum frames_name key;     /* the same */
    const char *mode;         /* of that file object */
    const char *reserve_name; /* in sys, or NULL */
    int fd;
    int reserve;    /* a second descriptor of the same file, or -1 */
    bool published; /* the object in sys is one over `fd` */
    dev_t device;
    ino_t inode;
};

/* Duplicates `fd`, out of the way of cells. For good: nothing is ever released. -> 0, -errno. */
int way_init(struct way *self, int fd, bool with_reserve);

/* Is this file behind that number? */
bool way_is(const struct way *self, int fd);

/* Has `self->fd` be one of the file again. -> false: there is none left. */
bool way_mend(struct way *self);

/*
 * Shows it in sys, as an object that closes nothing: what goes wrong with one must not cost
 * us the descriptor. -> 0, -1.
 */
int py_way_publish(struct way *self);

/* The descriptor of the object in sys, whatever that is by now, or -1. */
int py_way_published(const struct way *self);

/* Looks it up in sys, and makes it anew where it is no more what it was. -> 0, -1: it is lost. */
int py_way_resolve(struct way *self);

/* -> -1, with the exception of a way that is lost. */
int py_way_lost(const struct way *self);

#endif
