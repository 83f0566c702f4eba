#ifndef BRIDGE_SPEAKER_H
#define BRIDGE_SPEAKER_H

/*
 * A speaker stands for the cell that output belongs to. Threads and tasks carry
 * it in the ContextVar `_einkorn.cell`, so they speak in the cell that started
 * them, also after its end. Code that has none (finalizers, the loop's own
 * callbacks) speaks in the cell that began last.
 *
 * It also bounds a cell's text where it arises: the first `limit` characters
 * of each stream go out (counted as visible.h says), the rest is kept as a
 * rolling tail until the cell ends.
 */

#include <stdbool.h>

#include "bridge/buffer.h"
#include "bridge/parent.h"
#include "bridge/port.h"
#include "bridge/visible.h"

enum {
    SPEAKER_TAIL = 20000,          /* characters kept of what is over the limit */
    SPEAKER_PIECE = 64 * 1024,     /* characters of one record */
    SPEAKER_SLACK = 64 * 1024,     /* sent beyond what the kernel shows: see module.c */
    SPEAKER_TAIL_SIZE = 256 << 10, /* bytes of tail at which its old part is dropped */
    SPEAKER_CONTENT = 64 << 10     /* bytes of a request's content that outlive the request */
};

struct speaker {
    PyObject_HEAD const struct port *port;
    uint64_t request;
    bool allow_stdin;
    bool ended;         /* its request is answered: what is over the limit now is dropped */
    bool exits;         /* exit() was called */
    PyObject *payload;  /* list: the reply's payload */
    PyObject *parent;   /* dict: see py_speaker_parent; NULL: nobody has asked yet */
    struct buffer text; /* header, metadata and content of the request, as `said` divides it */
    struct {
        size_t header, metadata; /* bytes */
    } said;
    struct {
        struct visible spoken; /* sent */
        struct buffer tail;
    } stream[PORT_STREAMS];
};

/* Makes the type, the variable and a first speaker that speaks for no request. -> 0, -1. */
int py_speaker_init(const struct port *port, size_t limit);

/* `_einkorn.cell` and `_einkorn.context`. Borrowed. */
PyObject *speaker_var_b(void);
PyObject *speaker_context_b(void);

/*
 * Begins a cell: a new speaker in the cells' context. `message` is copied; NULL: there is
 * none. Borrowed until the next one begins.
 */
struct speaker *py_speaker_begin(const struct port *port, uint64_t request,
                                 const struct parent_text *message, bool allow_stdin);

/*
 * The request in whose name it speaks, as parent.h says; always the same dict. An empty one
 * where it speaks for none. Borrowed. -> NULL: an exception is set.
 */
PyObject *py_speaker_parent_b(struct speaker *self);

/*
 * Somebody who speaks for an earlier request, known by its number and `parent`, its dict; for
 * the one that began last it is that one's speaker. A new reference.
 */
struct speaker *py_speaker_for(uint64_t request, PyObject *parent);

/*
 * Begins a request within another one's: a new speaker in `context`. Borrowed until
 * py_speaker_back, which takes the one that spoke before, as begin_within gave it.
 */
struct speaker *py_speaker_begin_within(const struct port *port, uint64_t request,
                                        const struct parent_text *message, PyObject *context,
                                        struct speaker **ret_before);
void py_speaker_back(struct speaker *before);

/* The cell that is over said its last word: sends the tails. -> 0, -1. */
int py_speaker_end(struct speaker *self);

/* Whoever speaks here and now; a new reference, never NULL. */
struct speaker *py_speaker_current(void);
void py_speaker_leave(struct speaker *self);

/* Says a str in one of the streams. -> 0, -1. */
int py_speaker_say(struct speaker *self, int stream, PyObject *text);

/* The same for valid UTF-8. -> 0, -1. */
int py_speaker_say_utf8(struct speaker *self, int stream, struct slice text);

#endif
