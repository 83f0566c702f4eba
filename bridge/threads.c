/*
 * The wrapper around thread starts: see threads.h. What is handed to CPython is
 * a small callable that knows the user's function and the speaker, and shows
 * itself as that function where CPython reports an exception of the thread.
 * Worker, any Python thread; owns CPython's own functions.
 */

#include "bridge/threads.h"

#include "bridge/py_compat.h"
#include "bridge/speaker.h"

struct start {
    PyObject_HEAD PyObject *function;
    struct speaker *speaker;
};

/* Names of the functions: in _thread, and under which threading keeps them. */
static const char *const names[][2] = {
    {"start_new_thread", "_start_new_thread"},
    {"start_joinable_thread", "_start_joinable_thread"}, /* 3.13 */
};
enum { STARTS = sizeof names / sizeof *names };

static struct {
    PyTypeObject *type;
    PyObject *start[STARTS]; /* CPython's; NULL where it has none */
} threads;

static void py_start_dealloc(PyObject *self)
{
    struct start *start = (struct start *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(start->function);
    if (start->speaker != NULL) {
        py_speaker_leave(start->speaker);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *py_start_repr(PyObject *self)
{
    return PyObject_Repr(((struct start *)self)->function);
}

/* The first thing that happens in a new thread. */
static PyObject *py_start_call(PyObject *self, PyObject *args, PyObject *options)
{
    struct start *start = (struct start *)self;
    if (py_var_set(speaker_var_b(), (PyObject *)start->speaker) != 0) {
        return NULL;
    }
    return PyObject_Call(start->function, args, options);
}

static PyObject *py_start_new(PyObject *function)
{
    struct start *self = (struct start *)PyType_GenericAlloc(threads.type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
        self->speaker = py_speaker_current();
    }
    return (PyObject *)self;
}

/* CPython's function with the user's, its first argument, wrapped. Errors are CPython's. */
static PyObject *py_start(PyObject *start_function_b, PyObject *args, PyObject *options)
{
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *function_b = n > 0 ? PyTuple_GetItem(args, 0) : NULL;
    if (function_b == NULL || !PyCallable_Check(function_b)) {
        return PyObject_Call(start_function_b, args, options);
    }
    PyObject *wrapped = NULL;
    PyObject *ident = NULL;
    PyObject *start = py_start_new(function_b);
    PyObject *list = PySequence_List(args);
    if (start != NULL && list != NULL && PyList_SetItem(list, 0, Py_NewRef(start)) == 0) {
        wrapped = PyList_AsTuple(list);
    }
    if (wrapped != NULL) {
        ident = PyObject_Call(start_function_b, wrapped, options);
    }
    Py_XDECREF(start);
    Py_XDECREF(list);
    Py_XDECREF(wrapped);
    return ident;
}

static PyObject *py_start_new_thread(PyObject *self, PyObject *args)
{
    (void)self;
    return py_start(threads.start[0], args, NULL);
}

static PyObject *py_start_joinable_thread(PyObject *self, PyObject *args, PyObject *options)
{
    (void)self;
    PyObject *function_b = options != NULL ? PyDict_GetItemString(options, "function") : NULL;
    if (function_b == NULL || PyTuple_Size(args) != 0) {
        return py_start(threads.start[1], args, options);
    }
    PyObject *rest = PyDict_Copy(options);
    PyObject *positional = PyTuple_Pack(1, function_b);
    PyObject *result = NULL;
    if (rest != NULL && positional != NULL && PyDict_DelItemString(rest, "function") == 0) {
        result = py_start(threads.start[1], positional, rest);
    }
    Py_XDECREF(rest);
    Py_XDECREF(positional);
    return result;
}

static PyMethodDef methods[STARTS] = {
    {"start_new_thread", py_start_new_thread, METH_VARARGS, NULL},
    {"start_joinable_thread", (PyCFunction)(void (*)(void))py_start_joinable_thread,
     METH_VARARGS | METH_KEYWORDS, NULL},
};

static int py_wrap(PyObject *module, PyObject *threading, size_t i)
{
    threads.start[i] = PyObject_GetAttrString(module, names[i][0]);
    if (threads.start[i] == NULL) {
        PyErr_Clear();
        return 0;
    }
    PyObject *wrapper = PyCFunction_New(&methods[i], NULL);
    int error = wrapper != NULL ? PyObject_SetAttrString(module, names[i][0], wrapper) : -1;
    if (error == 0 && threading != NULL && PyObject_HasAttrString(threading, names[i][1])) {
        error = PyObject_SetAttrString(threading, names[i][1], wrapper);
    }
    Py_XDECREF(wrapper);
    return error;
}

static int py_make_type(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)py_start_dealloc},
        {Py_tp_call, (void *)py_start_call},
        {Py_tp_repr, (void *)py_start_repr},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "_einkorn.Start",
        .basicsize = sizeof(struct start),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    threads.type = (PyTypeObject *)PyType_FromSpec(&spec);
    return threads.type != NULL ? 0 : -1;
}

int py_threads_init(void)
{
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *modules_b = PySys_GetObject("modules");
    PyObject *threading_b = modules_b != NULL ? PyDict_GetItemString(modules_b, "threading") : NULL;
    int error = module != NULL ? py_make_type() : -1;
    for (size_t i = 0; i < STARTS && error == 0; i++) {
        error = py_wrap(module, threading_b, i);
    }
    Py_XDECREF(module);
    return error;
}
