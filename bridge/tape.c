/*
 * The tape: see tape.h. It is one block of memory that holds pieces in the
 * order in which they came, each a head and its UTF-8; what one stream writes
 * in a row is one piece. What finds no room is left out, and so is everything
 * where there is no memory for the block: nobody's cell fails by it. Worker,
 * any Python thread, under the GIL.
 */

#include "bridge/tape.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/port.h"
#include "bridge/py_compat.h"
#include "bridge/utf8.h"

enum { LONGEST = 4 }; /* bytes of a character */

struct head {
    int stream;
    size_t n; /* bytes after it */
};

static struct {
    uint8_t *p;
    size_t n;
    size_t size; /* 0: it is full, or does not run */
    size_t last; /* where the newest piece begins */
} tape;

static struct head head_at(size_t place)
{
    struct head head;
    memcpy(&head, tape.p + place, sizeof head);
    return head;
}

void tape_put_utf8(int stream, struct slice text)
{
    bool new = tape.n == 0 || head_at(tape.last).stream != stream;
    size_t taken = tape.n + (new ? sizeof(struct head) : 0);
    if (text.n == 0 || taken >= tape.size) {
        return;
    }
    size_t room = tape.size - taken;
    size_t n = text.n <= room ? text.n : utf8_prefix(text, room / LONGEST);
    struct head head = {stream, n};
    if (new) {
        tape.last = tape.n;
    } else {
        head.n += head_at(tape.last).n;
    }
    memcpy(tape.p + tape.last, &head, sizeof head);
    memcpy(tape.p + taken, text.p, n);
    tape.n = taken + n;
    if (n < text.n) {
        tape.size = 0;
    }
}

int py_tape_put(int stream, PyObject *text)
{
    if (tape.n >= tape.size) {
        return 0;
    }
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8;
    Py_ssize_t room = (Py_ssize_t)tape.size;
    PyObject *start =
        PyUnicode_GetLength(text) <= room ? Py_NewRef(text) : PyUnicode_Substring(text, 0, room);
    int error = start != NULL ? py_text_utf8(start, &scratch, &utf8) : -1;
    if (error == 0) {
        tape_put_utf8(stream, utf8);
    }
    buffer_release(&scratch);
    Py_XDECREF(start);
    return error;
}

static PyObject *py_pieces(void)
{
    PyObject *list = PyList_New(0);
    for (size_t at = 0; list != NULL && at < tape.n;) {
        struct head head = head_at(at);
        at += sizeof head;
        PyObject *text = py_text_from((struct slice){tape.p + at, head.n});
        PyObject *pair = text != NULL ? Py_BuildValue("(iO)", head.stream, text) : NULL;
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
        Py_XDECREF(text);
        at += head.n;
    }
    return list;
}

PyObject *py_tape(PyObject *module, PyObject *room)
{
    (void)module;
    size_t size = PyLong_AsSize_t(room);
    PyObject *pieces = PyErr_Occurred() == NULL ? py_pieces() : NULL;
    if (pieces == NULL) {
        return NULL;
    }
    free(tape.p);
    tape.p = size > 0 ? malloc(size) : NULL; /* pages that nothing is written to cost nothing */
    tape.n = tape.last = 0;
    tape.size = tape.p != NULL ? size : 0;
    return pieces;
}
