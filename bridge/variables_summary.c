/*
 * Scalars by variables_scalar.c, and containers by the texts of their first
 * members: see variables_summary.h. Worker, main thread; owns nothing.
 */

#include "bridge/variables_summary.h"

#include <stdbool.h>
#include <stdlib.h>

#include "bridge/py_compat.h"
#include "bridge/py_json.h"
#include "bridge/sha256.h"
#include "bridge/variables_scalar.h"

enum {
    SAMPLE = 12,       /* members of a container that are looked at */
    PREVIEW_MAX = 240, /* characters */
};

/* Takes `value`. -> 0, -1. */
static int py_add(PyObject *entry, const char *key, PyObject *value)
{
    int error = value != NULL ? PyDict_SetItemString(entry, key, value) : -1;
    Py_XDECREF(value);
    return error;
}

static int py_add_fingerprint(PyObject *entry, const struct buffer *token)
{
    char text[2 * SHA256_BYTES + 1];
    sha256_hex(buffer_slice(token), text);
    return py_add(entry, "fingerprint", PyUnicode_FromString(text));
}

static int py_summarize_scalar(PyObject *entry, const struct scalar *scalar, PyObject *value)
{
    struct buffer token = BUFFER_INIT;
    Py_ssize_t length = PyUnicode_CheckExact(value) ? PyUnicode_GetLength(value)
                        : PyBytes_CheckExact(value) ? PyBytes_Size(value)
                                                    : -1;
    int error = py_add(entry, "kind", PyUnicode_FromString(scalar->kind));
    if (error == 0 && length >= 0) {
        error = py_add(entry, "length", PyLong_FromSsize_t(length));
    }
    if (error == 0) {
        error = py_add(entry, "preview", scalar->py_preview(value));
    }
    if (error == 0) {
        error = scalar->py_put_token(&token, value);
    }
    if (error == 0) {
        error = py_add_fingerprint(entry, &token);
    }
    buffer_release(&token);
    return error;
}

/* ---- containers ---------------------------------------------------------------------------- */

struct container {
    const char *name; /* of the type */
    const char *kind;
    const char *opening, *closing;
    bool sorted;  /* its order means nothing */
    size_t parts; /* of a member: a dict's have a key and a value */
};

/* NULL: it is none. */
static const struct container *container_of(PyObject *value)
{
    static const struct container list = {"list", "sequence", "[", "]", false, 1};
    static const struct container tuple = {"tuple", "sequence", "(", ")", false, 1};
    static const struct container dict = {"dict", "mapping", "{", "}", false, 2};
    static const struct container set = {"set", "set", "{", "}", true, 1};
    static const struct container frozenset = {"frozenset", "set", "frozenset({", "})", true, 1};
    if (PyAnySet_CheckExact(value)) {
        return PyFrozenSet_CheckExact(value) ? &frozenset : &set;
    }
    return PyList_CheckExact(value)    ? &list
           : PyTuple_CheckExact(value) ? &tuple
           : PyDict_CheckExact(value)  ? &dict
                                       : NULL;
}

static int py_take_of_dict(PyObject *value, PyObject *sample)
{
    Py_ssize_t at = 0;
    PyObject *key_b = NULL;
    PyObject *item_b = NULL;
    int error = 0;
    while (error == 0 && PyList_Size(sample) < 2 * (Py_ssize_t)SAMPLE &&
           PyDict_Next(value, &at, &key_b, &item_b)) {
        PyObject *pair = PyTuple_Pack(2, key_b, item_b); /* held: appending may collect garbage */
        error = pair != NULL ? PyList_Append(sample, PyTuple_GetItem(pair, 0)) : -1;
        if (error == 0) {
            error = PyList_Append(sample, PyTuple_GetItem(pair, 1));
        }
        Py_XDECREF(pair);
    }
    return error;
}

static int py_take_of_others(PyObject *value, PyObject *sample)
{
    PyObject *iterator = PyObject_GetIter(value); /* that of the exact built-in type */
    PyObject *item = NULL;
    int error = iterator != NULL ? 0 : -1;
    while (error == 0 && PyList_Size(sample) < SAMPLE && (item = PyIter_Next(iterator)) != NULL) {
        error = PyList_Append(sample, item);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return error == 0 && PyErr_Occurred() == NULL ? 0 : -1;
}

/* The first SAMPLE members as a new list, of a dict key and value in turn. */
static PyObject *py_sample(PyObject *value)
{
    PyObject *sample = PyList_New(0);
    if (sample != NULL && (PyDict_CheckExact(value) ? py_take_of_dict(value, sample)
                                                    : py_take_of_others(value, sample)) != 0) {
        Py_CLEAR(sample);
    }
    return sample;
}

/* One text for each member, the token or the preview. */
struct texts {
    struct buffer of[SAMPLE];
    size_t n;
};

static void texts_release(struct texts *self)
{
    for (size_t i = 0; i < self->n; i++) {
        buffer_release(&self->of[i]);
    }
}

static int text_order(const void *a, const void *b)
{
    const struct buffer *left = a;
    const struct buffer *right = b;
    int order = memcmp(left->p, right->p, left->n < right->n ? left->n : right->n);
    return order != 0 ? order : (left->n > right->n) - (left->n < right->n);
}

static void texts_join(struct texts *self, bool sorted, const char *glue, struct buffer *joined)
{
    if (sorted) {
        qsort(self->of, self->n, sizeof *self->of, text_order);
    }
    for (size_t i = 0; i < self->n; i++) {
        buffer_put_text(joined, i > 0 ? glue : "");
        buffer_put_slice(joined, buffer_slice(&self->of[i]));
    }
}

static int py_put_json(struct buffer *text, PyObject *value)
{
    PyObject *preview = scalar_of(value)->py_preview(value);
    int error = preview != NULL ? py_json_put(text, preview) : -1;
    Py_XDECREF(preview);
    return error;
}

static int py_put_token(struct buffer *text, PyObject *value)
{
    return scalar_of(value)->py_put_token(text, value);
}

/* Fills `texts` by `py_put` from the sample, whose members are all scalars. -> 0, -1 */
static int py_texts(struct texts *texts, PyObject *sample, size_t parts, const char *glue,
                    int (*py_put)(struct buffer *text, PyObject *value))
{
    Py_ssize_t n = PyList_Size(sample);
    int error = 0;
    for (Py_ssize_t i = 0; i < n && error == 0; i += (Py_ssize_t)parts) {
        struct buffer *text = &texts->of[texts->n++];
        error = py_put(text, PyList_GetItem(sample, i));
        if (error == 0 && parts == 2) {
            buffer_put_text(text, glue);
            error = py_put(text, PyList_GetItem(sample, i + 1));
        }
    }
    return error;
}

static bool are_scalars(PyObject *sample)
{
    bool all = true;
    for (Py_ssize_t i = 0; i < PyList_Size(sample) && all; i++) {
        all = scalar_of(PyList_GetItem(sample, i)) != NULL;
    }
    return all;
}

static int py_add_container_fingerprint(PyObject *entry, const struct container *container,
                                        Py_ssize_t length, PyObject *sample)
{
    struct texts texts = {.n = 0};
    struct buffer token = BUFFER_INIT;
    int error = py_texts(&texts, sample, container->parts, "=>", py_put_token);
    buffer_printf(&token, "%s:%zd:", container->name, length);
    texts_join(&texts, container->sorted, "|", &token);
    if (error == 0) {
        error = py_add_fingerprint(entry, &token);
    }
    texts_release(&texts);
    buffer_release(&token);
    return error;
}

static int py_add_container_preview(PyObject *entry, const struct container *container,
                                    Py_ssize_t length, PyObject *sample)
{
    struct texts texts = {.n = 0};
    struct buffer text = BUFFER_INIT;
    int error = py_texts(&texts, sample, container->parts, ": ", py_put_json);
    buffer_put_text(&text, container->opening);
    texts_join(&texts, container->sorted, ", ", &text);
    buffer_put_text(&text, length > SAMPLE ? ", …" : "");
    buffer_put_text(&text, container->closing);
    if (error == 0) {
        PyObject *whole = py_text_from(buffer_slice(&text));
        error = py_add(entry, "preview",
                       whole != NULL ? PyUnicode_Substring(whole, 0, PREVIEW_MAX) : NULL);
        Py_XDECREF(whole);
    }
    texts_release(&texts);
    buffer_release(&text);
    return error;
}

static int py_summarize_container(PyObject *entry, const struct container *container,
                                  PyObject *value)
{
    Py_ssize_t length = PyObject_Size(value);
    PyObject *sample = length >= 0 ? py_sample(value) : NULL;
    if (sample == NULL) {
        return -1;
    }
    bool plain = are_scalars(sample);
    int error = py_add(entry, "kind", PyUnicode_FromString(plain ? container->kind : "container"));
    if (error == 0) {
        error = py_add(entry, "length", PyLong_FromSsize_t(length));
    }
    if (error == 0 && plain) {
        error = py_add_container_preview(entry, container, length, sample);
    }
    if (error == 0 && plain) {
        error = py_add_container_fingerprint(entry, container, length, sample);
    }
    Py_DECREF(sample);
    return error;
}

int py_variable_summarize(PyObject *entry, PyObject *value)
{
    const struct scalar *scalar = scalar_of(value);
    const struct container *container = container_of(value);
    if (scalar != NULL) {
        return py_summarize_scalar(entry, scalar, value);
    }
    return container != NULL ? py_summarize_container(entry, container, value) : 0;
}
