/*
 * The gate as Python sees it. Worker, main thread; owns what stands in the place
 * of three functions of CPython's:
 *
 *   _signal.default_int_handler   acknowledges the interrupt, asks the taker, and
 *                                 calls CPython's, which raises
 *   _signal.signal                puts the gate back before whatever handler was
 *                                 installed: asyncio.run does that each time
 *   sys.unraisablehook            where Python drops an exception (a finalizer, a
 *                                 weak reference's callback), an interrupt would
 *                                 be lost: it is brought again
 */

#include "bridge/gate_python.h"

#include <signal.h>

#include "bridge/forked.h"
#include "bridge/gate.h"
#include "bridge/gate_stand.h"

static struct {
    PyObject *signal;              /* CPython's _signal.signal */
    PyObject *raise;               /* CPython's _signal.default_int_handler */
    PyObject *default_int_handler; /* ours */
    PyObject *unraisablehook;      /* CPython's sys.unraisablehook */
    PyObject *taker;               /* asked before KeyboardInterrupt is raised; NULL: nobody */
    unsigned held;                 /* gate_hold calls under way */
    bool came;                     /* an interrupt that one of them holds back */
    bool raised;                   /* a KeyboardInterrupt of this request's came from here */
} own;

/* signal.signal: CPython's own, then the gate before what it installed. */
static PyObject *py_signal(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *before = PyObject_CallObject(own.signal, args);
    if (before == NULL || forked_is_child() || PyLong_AsLong(PyTuple_GetItem(args, 0)) != SIGINT) {
        return before;
    }
    PyObject *handler_b = PyTuple_GetItem(args, 1);
    gate_behind(handler_b == own.default_int_handler);
    gate_stand();
    return before;
}

/* -> 1: the taker saw to this interrupt, 0: it is to be raised, -1. */
static int py_is_taken(PyObject *args)
{
    if (own.held > 0) {
        own.came = true;
        return 1;
    }
    if (own.taker == NULL || PyTuple_Size(args) != 2) {
        return 0;
    }
    PyObject *taker = Py_NewRef(own.taker); /* it may be replaced meanwhile */
    PyObject *answer = PyObject_CallFunctionObjArgs(taker, PyTuple_GetItem(args, 1), NULL);
    int taken = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    Py_DECREF(taker);
    return taken;
}

static PyObject *py_default_int_handler(PyObject *self, PyObject *args)
{
    int taken = 0;
    (void)self;
    if (!forked_is_child()) {
        gate_acknowledge();
        taken = py_is_taken(args);
    }
    if (taken != 0) {
        return taken < 0 ? NULL : Py_NewRef(Py_None);
    }
    own.raised = true;
    gate_note_raised();
    return PyObject_CallObject(own.raise, args);
}

/* An interrupt that came out where exceptions are dropped has ended nothing: here it is again. */
static PyObject *py_unraisablehook(PyObject *self, PyObject *unraisable)
{
    (void)self;
    PyObject *type = PyObject_GetAttrString(unraisable, "exc_type");
    bool lost = type == PyExc_KeyboardInterrupt && own.raised && gate_is_armed();
    Py_XDECREF(type);
    PyErr_Clear();
    if (!lost) {
        return PyObject_CallFunctionObjArgs(own.unraisablehook, unraisable, NULL);
    }
    own.raised = false;
    gate_repeat();
    Py_RETURN_NONE;
}

void py_gate_set_taker(PyObject *taker)
{
    PyObject *before = own.taker;
    own.taker = taker != Py_None ? Py_NewRef(taker) : NULL;
    Py_XDECREF(before);
}

void gate_hold(void)
{
    own.held++;
}

void gate_let_go(void)
{
    own.held--;
    if (own.held == 0 && own.came) {
        own.came = false;
        gate_repeat();
    }
}

PyObject *py_gate_hold(PyObject *callable, PyObject *argument)
{
    gate_hold();
    PyObject *value = PyObject_CallFunctionObjArgs(callable, argument, NULL);
    gate_let_go();
    return value;
}

static PyMethodDef signal_method = {
    "signal", py_signal, METH_VARARGS,
    "signal(signalnum, handler, /)\n--\n\nSet the action for the given signal."};

static PyMethodDef default_int_handler_method = {
    "default_int_handler", py_default_int_handler, METH_VARARGS,
    "default_int_handler(signalnum, frame, /)\n--\n\nThe default handler for SIGINT."};

static PyMethodDef unraisablehook_method = {
    "unraisablehook", py_unraisablehook, METH_O,
    "unraisablehook(unraisable, /)\n--\n\nHandle an unraisable exception."};

static int py_watch_unraisable(void)
{
    own.unraisablehook = Py_XNewRef(PySys_GetObject("unraisablehook"));
    PyObject *ours = PyCFunction_New(&unraisablehook_method, NULL);
    int error =
        own.unraisablehook != NULL && ours != NULL ? PySys_SetObject("unraisablehook", ours) : -1;
    Py_XDECREF(ours);
    return error;
}

/* Puts a function of ours in the place of one of _signal's. -> 0 and CPython's, or -1. */
static int py_replace(PyMethodDef *method, PyObject **ret_ours, PyObject **ret_theirs)
{
    PyObject *modules_b = PySys_GetObject("modules");
    PyObject *imported_b = modules_b != NULL ? PyDict_GetItemString(modules_b, "signal") : NULL;
    PyObject *module = PyImport_ImportModule("_signal");
    int error = -1;
    if (module != NULL) {
        *ret_theirs = PyObject_GetAttrString(module, method->ml_name);
        *ret_ours = PyCFunction_New(method, NULL);
        if (*ret_theirs != NULL && *ret_ours != NULL) {
            error = PyObject_SetAttrString(module, method->ml_name, *ret_ours);
        }
    }
    if (error == 0 && imported_b != NULL && method == &default_int_handler_method) {
        error = PyObject_SetAttrString(imported_b, method->ml_name, *ret_ours);
    }
    Py_XDECREF(module);
    return error;
}

int py_gate_set_default(void)
{
    PyObject *before =
        PyObject_CallFunction(own.signal, "iO", (int)SIGINT, own.default_int_handler);
    Py_XDECREF(before);
    gate_behind(true);
    return before != NULL ? 0 : -1;
}

/* Ours in the place of CPython's default; a handler that `site` customisation set stays. */
static int py_take_over_default(void)
{
    PyObject *module = PyImport_ImportModule("_signal");
    PyObject *now =
        module != NULL ? PyObject_CallMethod(module, "getsignal", "i", (int)SIGINT) : NULL;
    int error = now != NULL ? 0 : -1;
    if (error == 0 && (now == own.raise || PyLong_Check(now))) { /* or SIG_DFL */
        error = py_gate_set_default();
    }
    Py_XDECREF(module);
    Py_XDECREF(now);
    return error;
}

int py_gate_python_open(void)
{
    PyObject *wrapper = NULL;
    int error = py_replace(&signal_method, &wrapper, &own.signal);
    Py_XDECREF(wrapper);
    if (error != 0 ||
        py_replace(&default_int_handler_method, &own.default_int_handler, &own.raise) != 0 ||
        py_take_over_default() != 0) {
        return -1;
    }
    return py_watch_unraisable();
}

void gate_python_request(void)
{
    own.raised = false;
}

bool gate_was_raised(void)
{
    return own.raised;
}
