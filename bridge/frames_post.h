#ifndef BRIDGE_FRAMES_POST_H
#define BRIDGE_FRAMES_POST_H

/*
 * Who gets which line. Two may wait for the host at the same time: the request
 * loop, and a host call of any thread. One of them reads, and what is not for
 * it is kept for the other, so neither takes the other's.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

enum post_kind {
    POST_END,       /* the host is gone */
    POST_BAD,       /* not JSON */
    POST_NO_OBJECT, /* JSON, but no object */
    POST_UNREAD,    /* an object, and no memory to read it */
    POST_OBJECT,
};

/* A moment, unless the reserve was there. Other threads may give memory back meanwhile. */
void py_wait_for_memory(void);

int py_post_init(void); /* -> 0, -1 with an exception */

/*
 * The next line for the request loop: the object if it is one, the line itself (bytes) if it
 * is POST_UNREAD, else NULL. Main thread.
 * -> enum post_kind, or -1: a signal's handler raised, or the way in is lost.
 */
int py_post_next(PyObject **ret_object);

/* While a cell runs no request is awaited: a line that is none is a spoilt answer. */
void post_cell_runs(bool runs);

/*
 * A host call begins and ends: between the two, lines with its id are for it, and so are
 * those that are for nobody. One at a time; the caller has the host-call lock.
 */
int py_post_expect(PyObject *call_id);
void py_post_forget(void);

/* The next line for the host call: as py_post_next. */
int py_post_answer(PyObject **ret_object);

#endif
