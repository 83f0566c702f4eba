/*
 * Writes frames: see frames_write.h. Two locks stand before the wire. Ours is a
 * plain one, held over nothing but the writing itself, where no Python code can
 * run, so no finalizer, handler or exception of a cell's comes between. The
 * published one, sys._openai4s_protocol_lock, is for others who speak the
 * protocol; a cell that takes it and never gives it back holds each frame up for
 * a moment, not for ever.
 *
 * Interrupts need no care here: Python's handlers run between the steps of
 * Python code, and there are none. Worker, any Python thread; owns the locks.
 */

#include "bridge/frames_write.h"

#include <stdarg.h>
#include <time.h>

#include "bridge/forked.h"
#include "bridge/frames_channel.h"
#include "bridge/frames_lock.h"
#include "bridge/json_text.h"
#include "bridge/py_compat.h"
#include "bridge/py_json.h"
#include "bridge/py_json_plain.h"

enum { LOCK_TRIES = 1000, LOCK_PAUSE_NS = 1000000 }; /* a second */

static struct {
    PyThread_type_lock own;
    struct frames_lock published;
} writing;

int py_frames_write_init(void)
{
    writing.own = PyThread_allocate_lock();
    if (writing.own == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    return py_frames_lock_init(&writing.published, "_openai4s_protocol_lock");
}

/* -> true: we have it. Never waits in Python, where a signal's handler would run. */
static bool py_take_published(void)
{
    const struct timespec pause = {0, LOCK_PAUSE_NS};
    bool has = py_frames_lock_try(&writing.published);
    for (int i = 0; i < LOCK_TRIES && !has; i++) {
        PyThreadState *state = PyEval_SaveThread();
        (void)nanosleep(&pause, NULL);
        PyEval_RestoreThread(state);
        has = py_frames_lock_try(&writing.published);
    }
    return has;
}

static int write_locked(const struct buffer *line)
{
    (void)PyThread_acquire_lock(writing.own, WAIT_LOCK);
    int error = channel_write(line->p, line->n);
    PyThread_release_lock(writing.own);
    return error;
}

int py_frame_put(struct buffer *line, PyObject *value)
{
    return py_json_plain_put(line, value) ? 0 : py_json_put(line, value);
}

int py_frame_send(struct buffer *line)
{
    if (forked_is_child()) {
        return 0;
    }
    buffer_put_char(line, '\n');
    py_channel_look();
    bool has = py_take_published();
    PyThreadState *state = PyEval_SaveThread();
    int error = write_locked(line);
    PyEval_RestoreThread(state);
    if (has) {
        py_frames_lock_give(&writing.published);
    }
    return py_channel_written(error);
}

/* ---- frames that are replaced ------------------------------------------------------ */

/* A member of the frame, or NULL. Borrowed. */
static PyObject *py_member_b(PyObject *frame, const char *name)
{
    return PyDict_GetItemString(frame, name);
}

/* What stands in the frame's place says why, and answers for what the host waits for. */
static PyObject *py_replacement(PyObject *frame, PyObject *why)
{
    PyObject *id_b = py_member_b(frame, "id");
    PyObject *interrupted_b = py_member_b(frame, "interrupted");
    if (!py_text_is(py_member_b(frame, "type"), "response") || id_b == NULL ||
        PyObject_IsTrue(id_b) <= 0) {
        return Py_BuildValue("{s:s,s:O}", "type", "log", "msg", why);
    }
    bool interrupted = interrupted_b == Py_True;
    return Py_BuildValue("{s:s,s:O,s:s,s:s,s:O,s:O}", "type", "response", "id", id_b, "stdout", "",
                         "stderr", "", "error", why, "interrupted",
                         interrupted ? Py_True : Py_False);
}

/* 'response', as Python shows it. */
static PyObject *py_type_shown(PyObject *frame)
{
    PyObject *type_b = py_member_b(frame, "type");
    return type_b != NULL ? PyObject_Repr(type_b) : PyUnicode_FromString("'unknown'");
}

static PyObject *py_too_big(PyObject *frame)
{
    PyObject *type = py_type_shown(frame);
    PyObject *why = type != NULL
                        ? PyUnicode_FromFormat("kernel dropped an oversized %U frame (>%d bytes)",
                                               type, FRAME_MAX)
                        : NULL;
    Py_XDECREF(type);
    return why;
}

static PyObject *py_not_json(PyObject *frame)
{
    PyObject *problem = py_exception_take(); /* NULL: there was no memory even for that */
    PyObject *class = problem != NULL ? PyType_GetName(Py_TYPE(problem)) : NULL;
    PyObject *type = py_type_shown(frame);
    PyObject *why =
        class != NULL && type != NULL
            ? PyUnicode_FromFormat("kernel dropped a %U frame that is no JSON (%U)", type, class)
            : NULL;
    Py_XDECREF(problem);
    Py_XDECREF(class);
    Py_XDECREF(type);
    return why;
}

static int py_replace(PyObject *frame, PyObject *why, struct buffer *line)
{
    PyObject *replacement = why != NULL ? py_replacement(frame, why) : NULL;
    buffer_clear(line);
    int error = replacement != NULL ? py_frame_put(line, replacement) : -1;
    Py_XDECREF(replacement);
    Py_XDECREF(why);
    return error;
}

/* Sends what was made of the frame, or could not be made of it. */
static int py_send_or_replace(PyObject *frame, int error, struct buffer *line)
{
    if (error != 0) {
        error = py_replace(frame, py_not_json(frame), line);
    } else if (line->n >= FRAME_MAX) {
        error = py_replace(frame, py_too_big(frame), line);
    }
    return error == 0 ? py_frame_send(line) : -1;
}

int py_frame_write(PyObject *frame)
{
    struct buffer line = BUFFER_INIT;
    int error = py_frame_put(&line, frame);
    error = py_send_or_replace(frame, error, &line);
    buffer_release(&line);
    return error;
}

/* What is asked of a response that is replaced. An exception that is set stays set. */
static PyObject *py_outline(PyObject *id, bool interrupted)
{
    PyObject *problem = py_exception_take();
    PyObject *frame = Py_BuildValue("{s:s,s:O,s:O}", "type", "response", "id", id, "interrupted",
                                    interrupted ? Py_True : Py_False);
    if (problem != NULL && frame != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(problem), problem);
    }
    Py_XDECREF(problem);
    return frame;
}

int py_frame_respond(struct buffer *line, int error, PyObject *id, bool interrupted)
{
    if (error == 0 && line->n < FRAME_MAX) {
        return py_frame_send(line);
    }
    PyObject *frame = py_outline(id, interrupted);
    error = frame != NULL ? py_send_or_replace(frame, error, line) : -1;
    Py_XDECREF(frame);
    return error;
}

int py_frame_say(PyObject *cell_id, PyObject *text)
{
    struct buffer line = BUFFER_INIT;
    buffer_put_text(&line, "{\"type\":\"stdout_chunk\",\"id\":");
    int error = py_frame_put(&line, cell_id);
    buffer_put_text(&line, ",\"text\":");
    if (error == 0) {
        error = py_frame_put(&line, text);
    }
    buffer_put_char(&line, '}');
    if (error == 0) {
        error = py_frame_send(&line);
    }
    buffer_release(&line);
    return error;
}

int py_frame_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PyObject *text = PyUnicode_FromFormatV(format, args);
    va_end(args);
    PyObject *frame = text != NULL ? Py_BuildValue("{s:s,s:O}", "type", "log", "msg", text) : NULL;
    int error = frame != NULL ? py_frame_write(frame) : -1;
    Py_XDECREF(text);
    Py_XDECREF(frame);
    return error;
}
