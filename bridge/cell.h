#ifndef BRIDGE_CELL_H
#define BRIDGE_CELL_H

/*
 * Runs one cell and answers for it. Does not know who asked: see port.h.
 */

#include <stdbool.h>

#include "bridge/buffer.h"
#include "bridge/port.h"
#include "bridge/speaker.h"

struct cell {
    const struct port *port;
    uint64_t request;
    struct parent_text message; /* the request itself */
    uint32_t count;             /* the number that the cell shows: In[count] */
    PyObject *code;             /* str */
    PyObject *expressions;      /* user_expressions: dict of str, or NULL */
    bool silent;
    bool store; /* enters In, Out and the history */
    bool allow_stdin;
};

/* Once, after the Python half is there. `namespace` is __main__'s. -> 0, -1. */
int py_cell_init(PyObject *namespace);

/*
 * Runs it: code, echo, expressions, messages, reply. Whatever the code raises
 * becomes the reply. In a forked child that runs out of its cell it does not
 * return. -> 0, -1 with an exception: the reply could not be sent.
 */
int py_cell_run(const struct cell *self);

/* ---- parts of it, for requests that are no cells (answer.h) -------------------- */

/* Appends the members ename, evalue, traceback of what was raised. Never fails. */
void py_cell_describe(PyObject *problem, struct buffer *members);

/* Sends all that was written in the speaker's name, before the reply. */
void py_cell_finish(struct speaker *speaker);

/*
 * The same for a request within another one, which goes on. -> 0, -1: with the exception
 * of a signal's handler set.
 */
int py_cell_flush(struct speaker *speaker);

#endif
