/*
 * The gate: see gate.h. Whose a SIGINT is, its siginfo says:
 *
 *   our own process        user code meant it (raise_signal, os.kill): it passes
 *   the kernel process     the shared page has the request's number and a serial
 *   anybody else           (VS Code signals every descendant itself) it counts
 *                          as an interrupt of the request that runs
 *
 * The kernel sends its signal again until the serial is acknowledged: one that
 * comes between a check for signals and a system call does not end that call.
 * So it is Python's handler that acknowledges, not the signal's arrival. For
 * that, default_int_handler is a function of ours that acknowledges and calls
 * CPython's. Behind a handler of the user's own, arrival must do.
 *
 * CPython replaces the gate whenever Python code sets a SIGINT handler, and
 * asyncio.run does that each time. Its C function `_signal.signal` is therefore
 * wrapped to put the gate back in front of whatever CPython installed. Handlers
 * that C code installs displace it until the next request begins.
 *
 * The handler runs on any thread at any moment: atomics and async-signal-safe
 * calls only. All else is for the main thread. A forked child has no page.
 */

#include "bridge/gate.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "bridge/forked.h"

/* A stranger's signal and another of this age are one interrupt. */
enum { MERGE_NS = 100 * 1000 * 1000 };

static struct {
    struct link_page *page;
    pid_t kernel;
    PyObject *signal;              /* CPython's _signal.signal */
    PyObject *raise;               /* CPython's _signal.default_int_handler */
    PyObject *default_int_handler; /* ours */
    PyObject *taker;               /* asked before KeyboardInterrupt is raised; NULL: nobody */
    _Atomic bool armed;
    _Atomic bool python_acknowledges; /* the handler behind the gate is default_int_handler */
    _Atomic uint64_t taken;           /* serial of the last interrupt that passed */
    _Atomic uint64_t owed;            /* request that a stranger's signal found not armed */
    _Atomic int64_t passed;           /* when one passed, ns; 0: none in this request */
    _Atomic int64_t stranger_passed;  /* the same, a stranger's */
    void (*_Atomic plain)(int);       /* the C handler behind the gate: one of these */
    void (*_Atomic with_info)(int, siginfo_t *, void *);
} gate;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_recent(const _Atomic int64_t *when, int64_t now)
{
    int64_t then = atomic_load(when);
    return then != 0 && now - then < MERGE_NS;
}

/* To the handler that the gate stands before. */
static void gate_forward(int number, siginfo_t *info, void *context)
{
    void (*with_info)(int, siginfo_t *, void *) = atomic_load(&gate.with_info);
    void (*plain)(int) = atomic_load(&gate.plain);
    if (with_info != NULL) {
        with_info(number, info, context);
    } else if (plain != NULL) {
        plain(number);
    }
}

static void gate_acknowledge(void)
{
    uint64_t serial = atomic_load(&gate.taken);
    if (serial != 0) {
        atomic_store(&gate.page->interrupt_acknowledged, serial);
    }
}

/* The kernel asks to interrupt this request and has not been heard yet. -> 0: no, or the serial. */
static uint64_t gate_asked(uint64_t request)
{
    uint64_t serial = atomic_load(&gate.page->interrupt_serial);
    return atomic_load(&gate.page->interrupt_number) == request &&
                   atomic_load(&gate.page->interrupt_acknowledged) != serial
               ? serial
               : 0;
}

/* The kernel's interrupt: does it pass? One that a stranger has just brought is only answered. */
static bool gate_take_asked(uint64_t serial)
{
    int64_t now = now_ns();
    bool passes = !is_recent(&gate.stranger_passed, now);
    atomic_store(&gate.taken, serial);
    if (!passes || !atomic_load(&gate.python_acknowledges)) {
        gate_acknowledge();
    }
    if (passes) {
        atomic_store(&gate.passed, now);
    }
    return passes;
}

static bool gate_take_stranger(void)
{
    int64_t now = now_ns();
    if (is_recent(&gate.passed, now)) {
        return false;
    }
    atomic_store(&gate.passed, now);
    atomic_store(&gate.stranger_passed, now);
    return true;
}

static bool gate_passes(pid_t sender)
{
    if (forked_is_child() || sender == getpid()) {
        return true;
    }
    uint64_t request = atomic_load(&gate.page->running);
    if (request == 0) {
        return false;
    }
    if (sender == gate.kernel) { /* not armed: gate_arm looks at the page itself */
        uint64_t serial = atomic_load(&gate.armed) ? gate_asked(request) : 0;
        return serial != 0 && gate_take_asked(serial);
    }
    if (!atomic_load(&gate.armed)) {
        atomic_store(&gate.owed, request);
        return false;
    }
    return gate_take_stranger();
}

static void on_sigint(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (gate_passes(info->si_code == SI_KERNEL ? 0 : info->si_pid)) {
        gate_forward(number, info, context);
    }
    errno = saved_errno;
}

static bool is_gate(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_sigint;
}

/* Puts the gate before the handler `now`. SIG_DFL and SIG_IGN are no handlers. */
static void gate_stand_before(const struct sigaction *now)
{
    bool with_info = (now->sa_flags & SA_SIGINFO) != 0;
    if (is_gate(now) ||
        (!with_info && (now->sa_handler == SIG_DFL || now->sa_handler == SIG_IGN))) {
        return;
    }
    atomic_store(&gate.with_info, with_info ? now->sa_sigaction : NULL);
    atomic_store(&gate.plain, with_info ? NULL : now->sa_handler);
    struct sigaction action = {.sa_sigaction = on_sigint, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigaction(SIGINT, &action, NULL);
}

/* Before the one that is there. */
static void gate_stand(void)
{
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0) {
        gate_stand_before(&now);
    }
}

/* ---- what stands in _signal ---------------------------------------------------------- */

/* signal.signal: CPython's own, then the gate before what it installed. */
static PyObject *py_signal(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *before = PyObject_CallObject(gate.signal, args);
    if (before == NULL || forked_is_child() || PyLong_AsLong(PyTuple_GetItem(args, 0)) != SIGINT) {
        return before;
    }
    PyObject *handler_b = PyTuple_GetItem(args, 1);
    atomic_store(&gate.python_acknowledges, handler_b == gate.default_int_handler);
    gate_stand();
    return before;
}

/* -> 1: the taker saw to this interrupt, 0: it is to be raised, -1. */
static int py_is_taken(PyObject *args)
{
    if (gate.taker == NULL || PyTuple_Size(args) != 2) {
        return 0;
    }
    PyObject *taker = Py_NewRef(gate.taker); /* it may be replaced meanwhile */
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
    return PyObject_CallObject(gate.raise, args);
}

void py_gate_set_taker(PyObject *taker)
{
    PyObject *before = gate.taker;
    gate.taker = taker != Py_None ? Py_NewRef(taker) : NULL;
    Py_XDECREF(before);
}

static PyMethodDef signal_method = {
    "signal", py_signal, METH_VARARGS,
    "signal(signalnum, handler, /)\n--\n\nSet the action for the given signal."};

static PyMethodDef default_int_handler_method = {
    "default_int_handler", py_default_int_handler, METH_VARARGS,
    "default_int_handler(signalnum, frame, /)\n--\n\nThe default handler for SIGINT."};

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

static int py_set_default(void)
{
    PyObject *before =
        PyObject_CallFunction(gate.signal, "iO", (int)SIGINT, gate.default_int_handler);
    Py_XDECREF(before);
    atomic_store(&gate.python_acknowledges, true);
    return before != NULL ? 0 : -1;
}

/* Ours in the place of CPython's default; a handler that `site` customisation set stays. */
static int py_take_over_default(void)
{
    PyObject *module = PyImport_ImportModule("_signal");
    PyObject *now =
        module != NULL ? PyObject_CallMethod(module, "getsignal", "i", (int)SIGINT) : NULL;
    int error = now != NULL ? 0 : -1;
    if (error == 0 && (now == gate.raise || PyLong_Check(now))) { /* or SIG_DFL */
        error = py_set_default();
    }
    Py_XDECREF(module);
    Py_XDECREF(now);
    return error;
}

/* ---- for the runner ------------------------------------------------------------------- */

int py_gate_open(struct link_page *page, pid_t kernel)
{
    PyObject *wrapper = NULL;
    gate.page = page;
    gate.kernel = kernel;
    int error = py_replace(&signal_method, &wrapper, &gate.signal);
    Py_XDECREF(wrapper);
    if (error != 0 ||
        py_replace(&default_int_handler_method, &gate.default_int_handler, &gate.raise) != 0 ||
        py_take_over_default() != 0) {
        return -1;
    }
    gate_stand();
    sigset_t interrupt;
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
    return 0;
}

int py_gate_request(uint64_t number)
{
    struct sigaction now;
    int error = 0;
    atomic_store(&gate.armed, false);
    atomic_store(&gate.owed, 0);
    atomic_store(&gate.passed, 0);
    atomic_store(&gate.stranger_passed, 0);
    atomic_store(&gate.page->running, number);
    if (number == 0) {
        return 0;
    }
    if (sigaction(SIGINT, NULL, &now) != 0) {
        return 0;
    }
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
        error = py_set_default(); /* a cell must be interruptible */
        gate_stand();
    } else {
        gate_stand_before(&now);
    }
    return error;
}

/* An interrupt that has not come through is brought by a signal of our own, which passes. */
static void gate_bring(uint64_t request, bool owed)
{
    uint64_t serial = gate_asked(request);
    if ((serial != 0 && gate_take_asked(serial)) || (owed && gate_take_stranger())) {
        (void)raise(SIGINT);
    }
}

void gate_arm(void)
{
    uint64_t request = atomic_load(&gate.page->running);
    atomic_store(&gate.armed, true);
    gate_bring(request, atomic_exchange(&gate.owed, 0) == request);
}

/* os.system() ignores SIGINT while its child runs: what came then was not heard. */
int py_gate_disarm(void)
{
    if (!forked_is_child()) {
        gate_bring(atomic_load(&gate.page->running), false);
    }
    atomic_store(&gate.armed, false);
    return PyErr_CheckSignals();
}
