/*
 * The object behind a memoryview of a large request's bytes: it holds a
 * reference of the request's mapping, and no more. Worker, any Python thread;
 * owns its type, which is made when the first large request comes.
 */

#include "bridge/mapped.h"

struct mapped {
    PyObject_HEAD struct link_mapping *mapping;
    struct slice bytes;
};

static PyObject *mapped_type;

static int py_mapped_get(PyObject *object, Py_buffer *view, int flags)
{
    const struct mapped *self = (const struct mapped *)object;
    return PyBuffer_FillInfo(view, object, (void *)(uintptr_t)self->bytes.p,
                             (Py_ssize_t)self->bytes.n, 1, flags);
}

static void py_mapped_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    link_mapping_unref(((struct mapped *)object)->mapping);
    PyObject_Free(object);
    Py_DECREF(type);
}

static int py_make_type(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)py_mapped_dealloc},
        {Py_bf_getbuffer, (void *)py_mapped_get},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "_einkorn.buffer",
        .basicsize = sizeof(struct mapped),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    mapped_type = PyType_FromSpec(&spec);
    return mapped_type != NULL ? 0 : -1;
}

PyObject *py_mapped_view(struct link_mapping *mapping, struct slice bytes)
{
    if (mapped_type == NULL && py_make_type() != 0) {
        return NULL;
    }
    PyObject *object = PyType_GenericAlloc((PyTypeObject *)mapped_type, 0);
    if (object == NULL) {
        return NULL;
    }
    struct mapped *self = (struct mapped *)object;
    self->mapping = link_mapping_ref(mapping);
    self->bytes = bytes;
    PyObject *view = PyMemoryView_FromObject(object);
    Py_DECREF(object);
    return view;
}
