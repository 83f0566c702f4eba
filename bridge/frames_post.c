/*
 * Sorts the lines: see frames_post.h. Whoever waits first reads; the other
 * sleeps until it is given a line or the reading. All here is under the GIL,
 * which is let go only in the two waits. A line that is for nobody counts against the
 * host call that waits, which gives up after some: while no request is awaited,
 * that is where the host's mistakes are found. Worker, any Python thread; owns
 * the lines that wait.
 */

#include "bridge/frames_post.h"

#include <time.h>

#include "bridge/frames_channel.h"
#include "bridge/frames_names.h"
#include "bridge/gate.h"
#include "bridge/json_text.h"
#include "bridge/py_compat.h"
#include "bridge/py_json_read.h"
#include "bridge/xalloc.h"

/* How often memory for a request is waited for, and how long each time. */
enum { PAUSES = 20, PAUSE_NS = 10000000 };

/* A line that has come: `object` is NULL unless it is POST_OBJECT or POST_UNREAD. */
struct piece {
    int kind;
    PyObject *object;
};

struct waiter {
    PyObject *queue; /* list of (kind, object) */
    PyThread_type_lock wake;
    bool sleeps; /* and lets the other read */
};

static struct {
    PyObject *call_id; /* of the host call that waits, or NULL */
    struct waiter loop;
    struct waiter call;
    bool reads;     /* one of them reads */
    bool ended;     /* there is nothing more to read */
    bool cell_runs; /* no request is awaited */
} post;

static int py_waiter_init(struct waiter *self)
{
    self->queue = PyList_New(0);
    self->wake = PyThread_allocate_lock();
    if (self->wake == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    (void)PyThread_acquire_lock(self->wake, NOWAIT_LOCK);
    return self->queue != NULL ? 0 : -1;
}

int py_post_init(void)
{
    return py_waiter_init(&post.loop) == 0 ? py_waiter_init(&post.call) : -1;
}

/* ---- sleeping -------------------------------------------------------------------------- */

static void waiter_wake(struct waiter *self)
{
    if (self->sleeps) {
        self->sleeps = false;
        PyThread_release_lock(self->wake);
    }
}

/* Until the other wakes us. -> 0, -1: a signal's handler raised. */
static int py_sleep(struct waiter *self)
{
    int error = 0;
    self->sleeps = true;
    while (self->sleeps && error == 0) {
        PyThreadState *state = PyEval_SaveThread();
        PyLockStatus status = PyThread_acquire_lock_timed(self->wake, -1, /* intr_flag= */ 1);
        PyEval_RestoreThread(state);
        if (status != PY_LOCK_ACQUIRED) {
            error = PyErr_CheckSignals();
        }
    }
    if (error != 0 && !self->sleeps) { /* woken all the same */
        (void)PyThread_acquire_lock(self->wake, NOWAIT_LOCK);
    }
    self->sleeps = false;
    return error;
}

/* ---- whose is it --------------------------------------------------------------------------- */

/* What the loop serves, as opposed to an answer. A request may leave its type out. */
static bool py_is_request(PyObject *object)
{
    static const char *const types[] = {"execute", "inspect_variables", "shutdown", "initialize"};
    PyObject *type_b = py_named_b(object, NAME_TYPE);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (py_text_is(type_b, types[i])) {
            return true;
        }
    }
    return type_b == NULL && py_named_b(object, NAME_CODE) != NULL;
}

static bool py_is_answer(PyObject *object)
{
    PyObject *id_b = py_named_b(object, NAME_ID);
    int same = id_b != NULL && PyUnicode_Check(id_b) ? PyUnicode_Compare(id_b, post.call_id) : 1;
    PyErr_Clear();
    return same == 0;
}

static struct slice line_text(PyObject *line)
{
    return (struct slice){(const uint8_t *)PyBytes_AsString(line), (size_t)PyBytes_Size(line)};
}

/* The same of a line that could not be read. */
static bool py_line_is_answer(PyObject *line)
{
    struct slice id;
    const char *call_id = PyUnicode_AsUTF8AndSize(post.call_id, NULL);
    PyErr_Clear();
    return call_id != NULL && json_object_get_kind(line_text(line), "id", JSON_STRING, &id) == 0 &&
           json_string_is(id, call_id);
}

static struct waiter *py_owner(const struct piece *piece)
{
    if (post.call_id == NULL) {
        return &post.loop;
    }
    if (piece->kind == POST_UNREAD) {
        return py_line_is_answer(piece->object) ? &post.call : &post.loop;
    }
    if (piece->object == NULL) {
        return post.cell_runs ? &post.call : &post.loop; /* a spoilt answer, or request? */
    }
    return py_is_answer(piece->object) || !py_is_request(piece->object) ? &post.call : &post.loop;
}

static int py_file(struct waiter *owner, const struct piece *piece)
{
    PyObject *item =
        Py_BuildValue("(iO)", piece->kind, piece->object != NULL ? piece->object : Py_None);
    int error = item != NULL ? PyList_Append(owner->queue, item) : -1;
    Py_XDECREF(item);
    waiter_wake(owner);
    return error;
}

/* ---- reading ---------------------------------------------------------------------------- */

/*
 * What a request says in texts, its name, its type and its code among them, read without any
 * Python: a cell can take ours apart. -> a dict; NULL: it is none, or no memory.
 */
static PyObject *py_salvage(PyObject *line)
{
    struct slice text = line_text(line);
    enum json_kind kind;
    bool is_object = json_check(text, JSON_DEPTH_LIMIT, &kind) == 0 && kind == JSON_OBJECT;
    return is_object ? py_json_texts(text) : NULL;
}

void py_wait_for_memory(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    if (!xalloc_use_reserve()) {
        PyThreadState *state = PyEval_SaveThread();
        (void)nanosleep(&pause, NULL);
        PyEval_RestoreThread(state);
    }
}

/* Whatever is wrong with a line, or with us, its sender has to hear of it. */
static struct piece py_parse(PyObject *line)
{
    gate_hold(); /* a request must not be lost */
    PyObject *object = py_json_read(line);
    if (object == NULL) {
        /* It is none, or a cell has taken the reader apart, or it has no memory, which it may say
         * by any exception: C knows whether it is one. */
        PyErr_Clear();
        object = py_salvage(line);
    }
    for (int i = 0; i < PAUSES && object == NULL && PyErr_Occurred() != NULL; i++) {
        PyErr_Clear();
        py_wait_for_memory();
        object = py_salvage(line);
    }
    bool unread = object == NULL && PyErr_Occurred() != NULL &&
                  PyErr_ExceptionMatches(PyExc_MemoryError); /* it is one, all the same */
    gate_let_go();
    if (unread) {
        PyErr_Clear();
        return (struct piece){POST_UNREAD, Py_NewRef(line)};
    }
    if (object != NULL && PyDict_Check(object)) {
        return (struct piece){POST_OBJECT, object};
    }
    PyErr_Clear();
    Py_XDECREF(object);
    return (struct piece){object != NULL ? POST_NO_OBJECT : POST_BAD, NULL};
}

static bool py_is_blank(PyObject *line)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    if (PyBytes_AsStringAndSize(line, &p, &n) != 0) {
        PyErr_Clear();
        return true;
    }
    while (n > 0 && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) {
        p++;
        n--;
    }
    return n == 0;
}

/* One line, into its owner's queue, or into the hand of `self` who waits. -> 1: the latter, 0, -1.
 */
static int py_read_one(struct waiter *self, struct piece *ret_piece)
{
    PyObject *line = NULL;
    post.reads = true; /* until the line is filed: the next one must not come before it */
    int error = py_channel_read_line(&line);
    if (error == 0 && line == NULL) {
        post.ended = true;
    }
    if (error == 0 && line != NULL && !py_is_blank(line)) {
        struct piece piece = py_parse(line);
        struct waiter *owner = py_owner(&piece);
        if (owner == self) {
            *ret_piece = piece;
            error = 1;
        } else {
            error = py_file(owner, &piece);
            Py_XDECREF(piece.object);
        }
    }
    post.reads = false;
    Py_XDECREF(line);
    return error;
}

/* From the front of the queue. -> its kind. */
static int py_pop(struct waiter *self, PyObject **ret_object)
{
    PyObject *item_b = PyList_GetItem(self->queue, 0);
    PyObject *object_b = PyTuple_GetItem(item_b, 1);
    int kind = (int)PyLong_AsLong(PyTuple_GetItem(item_b, 0));
    *ret_object = object_b != Py_None ? Py_NewRef(object_b) : NULL;
    return PyList_SetSlice(self->queue, 0, 1, NULL) == 0 ? kind : -1;
}

static int py_take(struct waiter *self, struct waiter *other, PyObject **ret_object)
{
    struct piece piece = {POST_END, NULL};
    int error = 0;
    while (error == 0 && PyList_Size(self->queue) == 0 && !post.ended) {
        error = post.reads ? py_sleep(self) : py_read_one(self, &piece);
    }
    waiter_wake(other); /* whatever has happened here: somebody must read */
    if (error < 0) {
        return -1;
    }
    if (error > 0) {
        *ret_object = piece.object;
        return piece.kind;
    }
    if (PyList_Size(self->queue) > 0) {
        return py_pop(self, ret_object);
    }
    *ret_object = NULL;
    return POST_END;
}

void post_cell_runs(bool runs)
{
    post.cell_runs = runs;
}

int py_post_next(PyObject **ret_object)
{
    return py_take(&post.loop, &post.call, ret_object);
}

int py_post_answer(PyObject **ret_object)
{
    return py_take(&post.call, &post.loop, ret_object);
}

int py_post_expect(PyObject *call_id)
{
    post.call_id = Py_NewRef(call_id);
    Py_ssize_t stale = PyList_Size(post.call.queue);
    return stale > 0 ? PyList_SetSlice(post.call.queue, 0, stale, NULL) : 0;
}

void py_post_forget(void)
{
    Py_CLEAR(post.call_id);
}
