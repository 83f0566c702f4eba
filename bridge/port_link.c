/*
 * The port behind which Einkorn's kernel process sits. Turns what the runner
 * says into records and waits for requests and answers, always with the GIL
 * given up. Two ways to wait: `patient` for what must get through (the answer
 * of a request), the other lets a signal's Python handler end the wait. Worker,
 * any Python thread; owns the worker's ends of the door. They are never torn
 * down: atexit handlers and daemon threads speak until the process ends.
 */

#include "bridge/port_link.h"

#include <errno.h>
#include <stdatomic.h>

#include "bridge/json_text.h"
#include "bridge/py_compat.h"

static struct {
    struct link_producer producer;
    struct link_reader reader;
    _Atomic uint64_t asks; /* serial of the last ASK or LOOKUP */
} door;

static void *gil_release(void)
{
    return PyEval_SaveThread();
}

static int gil_resume(void *state, bool interrupted)
{
    PyEval_RestoreThread(state);
    return interrupted ? PyErr_CheckSignals() : 0;
}

static int gil_resume_patiently(void *state, bool interrupted)
{
    (void)interrupted;
    PyEval_RestoreThread(state);
    return 0;
}

static const struct link_wait interruptible = {gil_release, gil_resume};
static const struct link_wait patient = {gil_release, gil_resume_patiently};

/* An exception for what the door said; LINK_EINTERRUPTED has set one. -> 0, -1. */
static int py_door_error(int error)
{
    if (error == 0) {
        return 0;
    }
    if (error == LINK_EFORKED) {
        PyErr_SetString(PyExc_RuntimeError, "a forked child has no connection to the notebook");
    } else if (error == -EMSGSIZE) {
        PyErr_SetString(PyExc_OverflowError, "a message of more than 2 GiB");
    } else if (error == LINK_ECLOSED) {
        PyErr_SetString(PyExc_EOFError, "the kernel ends");
    } else if (error == LINK_ECORRUPT) {
        PyErr_SetString(PyExc_RuntimeError, "the kernel broke the door's format");
    } else if (error != LINK_EINTERRUPTED) {
        errno = -error;
        (void)PyErr_SetFromErrno(PyExc_OSError);
    }
    return -1;
}

static int py_link_stream(uint64_t request, int stream, struct slice text)
{
    uint32_t kind = LINK_STREAM | (stream == PORT_STDERR ? LINK_STDERR : 0);
    return py_door_error(
        link_producer_write(&door.producer, kind, request, &text, 1, &interruptible));
}

static int py_link_publish(uint64_t request, const struct slice *part, size_t count)
{
    return py_door_error(link_producer_write_parts(&door.producer, LINK_PUBLISH, request, part,
                                                   count, &interruptible));
}

static int py_link_begin(uint64_t request)
{
    return py_door_error(
        link_producer_write_parts(&door.producer, LINK_BEGIN, request, NULL, 0, &patient));
}

static int py_link_done(uint64_t request, struct slice content, struct slice metadata,
                        const char *status)
{
    const struct slice part[] = {content, metadata, slice_of(status)};
    return py_door_error(
        link_producer_write_parts(&door.producer, LINK_DONE, request, part, 3, &patient));
}

/* What the user typed: a raw JSON string. */
static PyObject *py_line(struct slice raw)
{
    if (json_kind_of(raw) != JSON_STRING) {
        PyErr_SetString(PyExc_RuntimeError, "the frontend sent a value that is no text");
        return NULL;
    }
    struct buffer text = BUFFER_INIT;
    json_string_decode(raw, &text);
    PyObject *line = NULL;
    if (slice_is(buffer_slice(&text), "\x04")) {
        PyErr_SetNone(PyExc_EOFError);
    } else {
        line = py_text_from(buffer_slice(&text));
    }
    buffer_release(&text);
    return line;
}

static PyObject *py_answer(const struct link_parts *parts)
{
    if (parts->count >= 2 && slice_is(parts->part[0], "ok")) {
        return py_line(parts->part[1]);
    }
    if (parts->count >= 1 && slice_is(parts->part[0], "eof")) {
        PyErr_SetNone(PyExc_EOFError);
        return NULL;
    }
    PyObject *text = parts->count >= 2 ? py_text_from(parts->part[1]) : NULL;
    if (text != NULL) {
        PyErr_SetObject(PyExc_RuntimeError, text);
        Py_DECREF(text);
    } else if (PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the frontend did not answer");
    }
    return NULL;
}

/* Nobody waits any more: the kernel is told, and an answer under way is dropped. */
static void py_link_forget(uint64_t request, uint64_t serial)
{
    const struct slice part[] = {{(const uint8_t *)&serial, sizeof serial}, slice_of("")};
    link_reader_forget(&door.reader, serial);
    (void)link_producer_write_parts(&door.producer, LINK_ASK, request, part, 2, &patient);
}

static PyObject *py_link_lookup(struct slice kind, struct slice msg_id)
{
    uint64_t serial = atomic_fetch_add(&door.asks, 1) + 1;
    const struct slice part[] = {{(const uint8_t *)&serial, sizeof serial}, kind, msg_id};
    struct link_request *answer = NULL;
    int error = link_producer_write_parts(&door.producer, LINK_LOOKUP, 0, part, 3, &interruptible);
    if (error == 0) {
        error = link_reader_wait(&door.reader, LINK_ANSWER, serial, &interruptible, &answer);
        if (error == LINK_EINTERRUPTED) {
            link_reader_forget(&door.reader, serial);
        }
    }
    if (py_door_error(error) != 0) {
        return NULL;
    }
    PyObject *text = NULL;
    if (py_door_error(answer->error) == 0) {
        text = py_text_from(answer->parts.count >= 2 ? answer->parts.part[1] : slice_of("{}"));
    }
    link_request_destroy(&answer);
    return text;
}

static PyObject *py_link_ask(uint64_t request, struct slice content)
{
    uint64_t serial = atomic_fetch_add(&door.asks, 1) + 1;
    const struct slice part[] = {{(const uint8_t *)&serial, sizeof serial}, content};
    struct link_request *answer = NULL;
    int error =
        link_producer_write_parts(&door.producer, LINK_ASK, request, part, 2, &interruptible);
    if (error == 0) {
        error = link_reader_wait(&door.reader, LINK_ANSWER, serial, &interruptible, &answer);
        if (error == LINK_EINTERRUPTED) {
            py_link_forget(request, serial);
        }
    }
    if (py_door_error(error) != 0) {
        return NULL;
    }
    PyObject *line = py_door_error(answer->error) == 0 ? py_answer(&answer->parts) : NULL;
    link_request_destroy(&answer);
    return line;
}

const struct port port_link = {
    .py_stream = py_link_stream,
    .py_publish = py_link_publish,
    .py_ask = py_link_ask,
    .py_lookup = py_link_lookup,
    .py_begin = py_link_begin,
    .py_done = py_link_done,
};

int port_link_init(const struct link_fds *fds)
{
    int error = link_producer_init(&door.producer, fds);
    return error != 0 ? error : link_reader_init(&door.reader, &door.producer);
}

struct link_page *port_link_page(void)
{
    return door.producer.memory.page;
}

int py_port_link_ready(const char *python_version)
{
    struct slice version = slice_of(python_version);
    return py_door_error(
        link_producer_write_parts(&door.producer, LINK_READY, 0, &version, 1, &patient));
}

int py_port_link_history(uint64_t request, const struct slice *part, size_t count)
{
    return py_door_error(
        link_producer_write_parts(&door.producer, LINK_HISTORY, request, part, count, &patient));
}

int py_port_link_wait(enum link_request_kind kind, struct link_request **ret_request)
{
    return link_reader_wait(&door.reader, kind, 0, &interruptible, ret_request);
}

int port_link_poll(enum link_request_kind kind, struct link_request **ret_request)
{
    return link_reader_poll(&door.reader, kind, 0, ret_request);
}

bool port_link_has_ended(void)
{
    return link_reader_has_ended(&door.reader);
}

int port_link_fd(void)
{
    return link_reader_fd(&door.reader);
}
