/*
 * Speakers: see speaker.h. They are Python objects because they live in a
 * ContextVar, and they last as long as any thread or task that carries them.
 * Counts and tails are touched only with the GIL; a piece is counted before it
 * is sent, since sending may let other threads in. Worker, any Python thread.
 */

#include "bridge/speaker.h"

#include "bridge/py_compat.h"
#include "bridge/utf8.h"

static struct {
    PyTypeObject *type;
    PyObject *var;     /* _einkorn.cell */
    PyObject *context; /* _einkorn.context: where cells run */
    PyObject *run;     /* context.run */
    PyObject *set;     /* var.set */
    struct speaker *last;
    size_t limit; /* characters per stream; SIZE_MAX: none */
} speakers;

static void py_speaker_dealloc(PyObject *self)
{
    struct speaker *speaker = (struct speaker *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < PORT_STREAMS; i++) {
        buffer_release(&speaker->stream[i].tail);
    }
    buffer_release(&speaker->text);
    Py_XDECREF(speaker->payload);
    Py_XDECREF(speaker->parent);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *py_speaker_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<einkorn cell of request %llu>",
                                (unsigned long long)((struct speaker *)self)->request);
}

/* One allocation: nearly every request is small, and nearly none is looked at. */
static void keep_text(struct speaker *self, const struct parent_text *message)
{
    self->said.header = message->header.n;
    self->said.metadata = message->metadata.n;
    buffer_reserve(&self->text, message->header.n + message->metadata.n + message->content.n);
    buffer_put_slice(&self->text, message->header);
    buffer_put_slice(&self->text, message->metadata);
    buffer_put_slice(&self->text, message->content);
}

static struct speaker *py_speaker_new(const struct port *port, uint64_t request,
                                      const struct parent_text *message, bool allow_stdin)
{
    struct speaker *self = (struct speaker *)PyType_GenericAlloc(speakers.type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->port = port;
    self->request = request;
    self->allow_stdin = allow_stdin;
    if (message != NULL) {
        keep_text(self, message);
    }
    self->payload = PyList_New(0);
    if (self->payload == NULL) {
        Py_CLEAR(self);
    }
    return self;
}

int py_speaker_init(const struct port *port, size_t limit)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)py_speaker_dealloc},
        {Py_tp_repr, (void *)py_speaker_repr},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "_einkorn.Cell",
        .basicsize = sizeof(struct speaker),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    speakers.limit = limit != 0 ? limit : SIZE_MAX;
    speakers.type = (PyTypeObject *)PyType_FromSpec(&spec);
    speakers.var = py_var_new("_einkorn.cell");
    speakers.context = py_context_new();
    if (speakers.type == NULL || speakers.var == NULL || speakers.context == NULL) {
        return -1;
    }
    speakers.run = PyObject_GetAttrString(speakers.context, "run");
    speakers.set = PyObject_GetAttrString(speakers.var, "set");
    speakers.last = py_speaker_new(port, 0, NULL, false);
    return speakers.run != NULL && speakers.set != NULL && speakers.last != NULL ? 0 : -1;
}

PyObject *speaker_var_b(void)
{
    return speakers.var;
}

PyObject *speaker_context_b(void)
{
    return speakers.context;
}

struct speaker *py_speaker_begin(const struct port *port, uint64_t request,
                                 const struct parent_text *message, bool allow_stdin)
{
    struct speaker *self = py_speaker_new(port, request, message, allow_stdin);
    if (self == NULL) {
        return NULL;
    }
    PyObject *token =
        PyObject_CallFunctionObjArgs(speakers.run, speakers.set, (PyObject *)self, NULL);
    if (token == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    Py_DECREF(token);
    py_speaker_back(self);
    return self;
}

struct speaker *py_speaker_for(uint64_t request, PyObject *parent)
{
    if (speakers.last->request == request) {
        return (struct speaker *)Py_NewRef((PyObject *)speakers.last);
    }
    struct speaker *self =
        py_speaker_new(speakers.last->port, request, NULL, speakers.last->allow_stdin);
    if (self != NULL) {
        self->ended = true;
        self->parent = Py_NewRef(parent);
    }
    return self;
}

struct speaker *py_speaker_begin_within(const struct port *port, uint64_t request,
                                        const struct parent_text *message, PyObject *context,
                                        struct speaker **ret_before)
{
    struct speaker *self = py_speaker_new(port, request, message, false);
    PyObject *token =
        self != NULL ? PyObject_CallMethod(context, "run", "OO", speakers.set, (PyObject *)self)
                     : NULL;
    if (token == NULL) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    Py_DECREF(token);
    *ret_before = speakers.last;
    speakers.last = self;
    return self;
}

void py_speaker_back(struct speaker *before)
{
    struct speaker *self = speakers.last;
    speakers.last = before;
    Py_DECREF(self);
}

struct speaker *py_speaker_current(void)
{
    PyObject *value = NULL;
    if (py_var_get(speakers.var, &value) != 0) {
        PyErr_Clear();
    }
    if (value != NULL && Py_TYPE(value) != speakers.type) {
        Py_CLEAR(value); /* the user's code can set the variable to anything */
    }
    if (value == NULL) {
        value = Py_NewRef((PyObject *)speakers.last);
    }
    return (struct speaker *)value;
}

void py_speaker_leave(struct speaker *self)
{
    Py_DECREF(self);
}

PyObject *py_speaker_parent_b(struct speaker *self)
{
    if (self->parent == NULL && self->text.n == 0) {
        self->parent = PyDict_New();
    } else if (self->parent == NULL) {
        struct slice all = buffer_slice(&self->text);
        size_t head = self->said.header + self->said.metadata;
        const struct parent_text text = {
            .header = {all.p, self->said.header},
            .metadata = {all.p + self->said.header, self->said.metadata},
            .content = {all.p + head, all.n - head},
        };
        PyObject *parent = py_parent_new(&text);
        if (self->parent == NULL) { /* another thread may have been as far meanwhile */
            self->parent = parent;
        } else {
            Py_XDECREF(parent);
        }
    }
    return self->parent;
}

/* The request is over: what a thread of it may ask for later is small. */
static void forget_large_content(struct speaker *self)
{
    size_t head = self->said.header + self->said.metadata;
    if (self->text.n - head > SPEAKER_CONTENT) {
        struct buffer kept = BUFFER_INIT;
        buffer_put_slice(&kept, (struct slice){self->text.p, head});
        buffer_release(&self->text);
        self->text = kept;
    }
}

static void tail_put(struct buffer *tail, struct slice text)
{
    buffer_put_slice(tail, text);
    if (tail->n > SPEAKER_TAIL_SIZE) {
        buffer_drop_front(tail, utf8_suffix(buffer_slice(tail), SPEAKER_TAIL));
    }
}

static int py_send(struct speaker *self, int stream, struct slice text)
{
    struct visible *spoken = &self->stream[stream].spoken;
    struct visible before = *spoken;
    (void)visible_take(spoken, text, SIZE_MAX);
    if (self->port->py_stream(self->request, stream, text) != 0) {
        /* What other threads said meanwhile is forgotten too: rather too few than too many. */
        *spoken = before.characters < spoken->characters ? before : *spoken;
        return -1;
    }
    return 0;
}

/* Of this many characters, those that go out next: one piece, within the limit. */
static size_t speaker_next(const struct speaker *self, int stream, size_t characters)
{
    size_t spoken = self->stream[stream].spoken.characters;
    size_t room = spoken < speakers.limit ? speakers.limit - spoken : 0;
    size_t next = characters < SPEAKER_PIECE ? characters : SPEAKER_PIECE;
    return next < room ? next : room;
}

int py_speaker_say_utf8(struct speaker *self, int stream, struct slice text)
{
    size_t length = utf8_count(text);
    size_t next = 0;
    for (; (next = speaker_next(self, stream, length)) > 0; length -= next) {
        size_t n = utf8_prefix(text, next);
        if (py_send(self, stream, (struct slice){text.p, n}) != 0) {
            return -1;
        }
        text = (struct slice){text.p + n, text.n - n};
    }
    if (text.n > 0 && !self->ended) {
        size_t skip = utf8_suffix(text, SPEAKER_TAIL);
        tail_put(&self->stream[stream].tail, (struct slice){text.p + skip, text.n - skip});
    }
    return 0;
}

/* Part of a str, as UTF-8, to one of the two places. */
static int py_say_part(struct speaker *self, int stream, PyObject *text, size_t from, size_t to,
                       bool send)
{
    struct buffer buffer = BUFFER_INIT;
    struct slice utf8;
    PyObject *part = PyUnicode_Substring(text, (Py_ssize_t)from, (Py_ssize_t)to);
    int error = part != NULL ? py_text_utf8(part, &buffer, &utf8) : -1;
    if (error == 0 && send) {
        error = py_send(self, stream, utf8);
    } else if (error == 0) {
        tail_put(&self->stream[stream].tail, utf8);
    }
    Py_XDECREF(part);
    buffer_release(&buffer);
    return error;
}

/* The common case, without a slice of it. */
static int py_say_whole(struct speaker *self, int stream, PyObject *text, size_t length)
{
    struct buffer buffer = BUFFER_INIT;
    struct slice utf8;
    int error = length > 0 ? py_text_utf8(text, &buffer, &utf8) : 0;
    if (error == 0 && length > 0) {
        error = py_send(self, stream, utf8);
    }
    buffer_release(&buffer);
    return error;
}

int py_speaker_say(struct speaker *self, int stream, PyObject *text)
{
    size_t length = (size_t)PyUnicode_GetLength(text);
    size_t next = speaker_next(self, stream, length);
    if (next == length) {
        return py_say_whole(self, stream, text, length);
    }
    size_t at = 0;
    for (; next > 0; next = speaker_next(self, stream, length - at)) {
        if (py_say_part(self, stream, text, at, at + next, true) != 0) {
            return -1;
        }
        at += next;
    }
    if (at < length && !self->ended) {
        size_t from = length - at > SPEAKER_TAIL ? length - SPEAKER_TAIL : at;
        return py_say_part(self, stream, text, from, length, false);
    }
    return 0;
}

int py_speaker_end(struct speaker *self)
{
    int error = 0;
    self->ended = true;
    forget_large_content(self);
    for (int i = 0; i < PORT_STREAMS; i++) {
        struct buffer tail = self->stream[i].tail;
        self->stream[i].tail = (struct buffer)BUFFER_INIT;
        struct slice text = buffer_slice(&tail);
        size_t skip = text.n > 0 ? utf8_suffix(text, SPEAKER_TAIL) : 0;
        if (text.n > 0 && error == 0) {
            error = self->port->py_stream(self->request, i,
                                          (struct slice){text.p + skip, text.n - skip});
        }
        buffer_release(&tail);
    }
    return error;
}
