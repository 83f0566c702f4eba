/*
 * The audit hook: see audit.h. `open` goes to files_read.c, names that the Python
 * half listens to go there. Hooks of this kind see all interpreters of the
 * process; we mean the first only, whose objects we hold. Worker, any thread with
 * the GIL; owns the listeners.
 */

#include "bridge/audit.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "bridge/files_read.h"
#include "bridge/xalloc.h"

static struct {
    PyInterpreterState *interpreter;
    bool heard; /* our own first event */
    struct listener {
        char *name;
        PyObject *function; /* NULL: nobody listens */
    } listeners[AUDIT_LISTENERS];
} audit;

static const char probe[] = "einkorn.audit";

static int py_tell(PyObject *function, PyObject *args)
{
    PyObject *held = Py_NewRef(function); /* it may have itself replaced */
    PyObject *nothing = PyObject_CallObject(held, args);
    Py_DECREF(held);
    Py_XDECREF(nothing);
    return nothing != NULL ? 0 : -1;
}

static int py_on_event(const char *event, PyObject *args, void *unused)
{
    (void)unused;
    if (PyInterpreterState_Get() != audit.interpreter || !PyTuple_Check(args)) {
        return 0;
    }
    if (strcmp(event, "open") == 0) {
        py_files_read_opened(args);
    }
    audit.heard = audit.heard || strcmp(event, probe) == 0;
    int error = 0;
    for (size_t i = 0; i < AUDIT_LISTENERS && error == 0; i++) {
        const struct listener *listener = &audit.listeners[i];
        if (listener->function != NULL && strcmp(event, listener->name) == 0) {
            error = py_tell(listener->function, args);
        }
    }
    return error;
}

/* A hook that somebody has set before us can refuse ours without a word. */
static int py_probe(void)
{
    PyObject *raise_b = PySys_GetObject("audit");
    PyObject *done = raise_b != NULL ? PyObject_CallFunction(raise_b, "s", probe) : NULL;
    Py_XDECREF(done);
    if (done != NULL && !audit.heard) {
        PyErr_SetString(PyExc_RuntimeError, "the audit hook was refused");
    }
    return done != NULL && audit.heard ? 0 : -1;
}

int py_audit_install(void)
{
    /* In every CPython since 3.8, but not in the limited API. A union as in py_compat.c. */
    union {
        void *symbol;
        int (*add)(int (*)(const char *, PyObject *, void *), void *);
    } hooks = {dlsym(RTLD_DEFAULT, "PySys_AddAuditHook")};
    if (audit.interpreter != NULL) {
        return 0;
    }
    if (hooks.symbol == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this Python has no audit hooks");
        return -1;
    }
    audit.interpreter = PyInterpreterState_Get(); /* a second try would be a second hook */
    return hooks.add(py_on_event, NULL) == 0 ? py_probe() : -1;
}

static struct listener *listener_of(const char *name)
{
    struct listener *unused = NULL;
    for (size_t i = 0; i < AUDIT_LISTENERS; i++) {
        struct listener *listener = &audit.listeners[i];
        if (listener->name != NULL && strcmp(listener->name, name) == 0) {
            return listener;
        }
        if (listener->name == NULL && unused == NULL) {
            unused = listener;
        }
    }
    if (unused != NULL) {
        unused->name = xstrdup(name); /* for good: few names, and a hook may just look at it */
    }
    return unused;
}

int py_audit_listen(PyObject *name, PyObject *function)
{
    const char *text = py_audit_install() == 0 ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    struct listener *listener = text != NULL ? listener_of(text) : NULL;
    if (listener == NULL) {
        if (text != NULL) {
            PyErr_SetString(PyExc_RuntimeError, "too many audit events are listened to");
        }
        return -1;
    }
    PyObject *before = listener->function;
    listener->function = function != Py_None ? Py_NewRef(function) : NULL;
    Py_XDECREF(before);
    return 0;
}
