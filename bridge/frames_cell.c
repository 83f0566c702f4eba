/*
 * A cell of `einkorn frames`: see frames_cell.h. The order is the protocol's:
 * SIGINT armed first of all, so that an interrupt that comes while the cell is
 * prepared is owed to it; the streams; the facts' begin; then compile, run, echo.
 * Interrupts pass while user code runs, its repr and the texts of its exceptions
 * among it. User code is evaluated from here, so no Python frame of ours is in
 * its tracebacks. Worker, main thread; owns the namespace.
 */

#include "bridge/frames_cell.h"

#include <string.h>

#include "bridge/files_read.h"
#include "bridge/forked.h"
#include "bridge/frames_code.h"
#include "bridge/frames_half.h"
#include "bridge/frames_names.h"
#include "bridge/frames_post.h"
#include "bridge/frames_response.h"
#include "bridge/frames_standard.h"
#include "bridge/frames_stream.h"
#include "bridge/frames_write.h"
#include "bridge/gate.h"
#include "bridge/guards.h"
#include "bridge/py_compat.h"
#include "bridge/usage.h"
#include "bridge/xalloc.h"

static struct {
    PyObject *namespace;
    PyObject *mode;
    PyObject *no_problem; /* the description of none */
    bool has_host;
    PyObject *id;
    PyObject *origin;
    unsigned long long count;
} cells;

/* One cell on its way. */
struct run {
    PyObject *code;
    PyObject *file;
    PyObject *out; /* streams */
    PyObject *err;
    PyObject *problem; /* what it raised, or NULL */
    struct usage used;
    PyObject *files_read; /* list, or NULL */
};

/* Of a module that can be found by its name: pickle and dataclasses look there. */
static PyObject *py_namespace_new(void)
{
    static const char *const unwanted[] = {"__doc__", "__package__", "__loader__", "__spec__"};
    PyObject *module_b = PyImport_AddModule("__openai4s__");
    PyObject *dict_b = module_b != NULL ? PyModule_GetDict(module_b) : NULL;
    PyObject *builtins = dict_b != NULL ? PyImport_ImportModule("builtins") : NULL;
    int error = builtins != NULL ? PyDict_SetItemString(dict_b, "__builtins__", builtins) : -1;
    Py_XDECREF(builtins);
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted && error == 0; i++) {
        error = PyDict_DelItemString(dict_b, unwanted[i]);
    }
    return error == 0 ? Py_NewRef(dict_b) : NULL;
}

int py_frames_cell_init(const char *mode)
{
    cells.namespace = py_namespace_new();
    cells.mode = PyUnicode_DecodeFSDefault(mode);
    cells.no_problem = PyTuple_Pack(3, Py_None, Py_None, Py_None);
    cells.has_host = strcmp(mode, "jupyter") != 0;
    cells.id = Py_NewRef(Py_None);
    cells.origin = Py_NewRef(Py_None);
    return cells.namespace != NULL && cells.mode != NULL && cells.no_problem != NULL
               ? py_frames_code_init()
               : -1;
}

PyObject *frames_namespace_b(void)
{
    return cells.namespace;
}

bool frames_have_host(void)
{
    return cells.has_host;
}

PyObject *frames_cell_id_b(void)
{
    return cells.id;
}

PyObject *frames_cell_origin_b(void)
{
    return cells.origin;
}

static void py_set_member(PyObject **member, PyObject *value)
{
    PyObject *before = *member;
    *member = Py_NewRef(value);
    Py_DECREF(before);
}

/* ---- before ------------------------------------------------------------------------- */

/* A cell that cannot be interrupted looks like a slow one: somebody has to say so. */
void py_frames_cell_arm(void)
{
    if (py_gate_request(cells.count) == 0 && py_gate_set_again() == 0) {
        return;
    }
    PyObject *problem = py_exception_take();
    PyObject *name = PyType_GetName(Py_TYPE(problem));
    if (name != NULL) {
        (void)py_frame_log("SIGINT could not be armed for this cell (%U: %S); it cannot be "
                           "interrupted and only the watchdog can end it",
                           name, problem);
    }
    PyErr_Clear(); /* the cell runs all the same */
    Py_XDECREF(name);
    Py_XDECREF(problem);
}

/* Takes the exception: what has failed is not the cell's. */
static void py_log_failure(const char *what)
{
    PyObject *problem = py_exception_take();
    if (py_frame_log("%s: %S", what, problem) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(problem);
}

/* A hook whose failure is not the cell's: its text goes to the log. -> what it returned, or NULL.
 */
static PyObject *py_try_hook(enum frames_hook hook, const char *what, PyObject *first,
                             PyObject *second)
{
    PyObject *value = PyObject_CallFunctionObjArgs(frames_hook_b(hook), first, second, NULL);
    if (value == NULL) {
        py_log_failure(what);
    }
    return value;
}

static void py_do_hook(enum frames_hook hook, const char *what, PyObject *first, PyObject *second)
{
    PyObject *value = py_try_hook(hook, what, first, second);
    Py_XDECREF(value);
}

/* What cannot be looked at must not run. */
static int py_recover_if_asked(void)
{
    if (!py_text_is(cells.origin, "sidecar_recovery")) {
        return 0;
    }
    PyObject *done = PyObject_CallNoArgs(frames_hook_b(FRAMES_RECOVER));
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int py_prepare(struct run *self)
{
    struct buffer name = BUFFER_INIT;
    buffer_put_text(&name, "<kernel:");
    buffer_put_number(&name, (long long)cells.count);
    buffer_put_char(&name, '>');
    self->file = py_text_from(buffer_slice(&name));
    buffer_release(&name);
    if (self->file == NULL) {
        return -1;
    }
    py_do_hook(FRAMES_BEGIN, "source unavailable", self->file, self->code);
    if (cells.has_host && py_named_b(cells.namespace, NAME_HOST) == NULL) {
        py_do_hook(FRAMES_INSTALL_HOST, "host sdk unavailable", cells.namespace, cells.mode);
    }
    self->out = py_frames_stream_new(cells.id);
    self->err = py_frames_stream_new(NULL);
    return self->out != NULL && self->err != NULL ? py_recover_if_asked() : -1;
}

/* ---- user code -------------------------------------------------------------------------- */

static int py_echo(PyObject *value)
{
    PyObject *file_b = PySys_GetObject("stdout");
    if (value == Py_None || file_b == NULL || file_b == Py_None) {
        return 0;
    }
    PyObject *file = Py_NewRef(file_b);
    PyObject *repr = PyObject_Repr(value);
    PyObject *line = repr != NULL ? PyUnicode_FromFormat("%U\n", repr) : NULL;
    int error = line != NULL ? PyFile_WriteObject(line, file, Py_PRINT_RAW) : -1;
    Py_XDECREF(line);
    Py_XDECREF(repr);
    Py_DECREF(file);
    return error;
}

static int py_evaluate(const struct run *self)
{
    bool is_expression = false;
    PyObject *code = py_frames_compile(self->code, self->file, &is_expression);
    if (code == NULL) {
        return -1;
    }
    gate_arm();
    int error = PyErr_CheckSignals(); /* one that is owed comes before the first instruction */
    PyObject *value = error == 0 ? PyEval_EvalCode(code, cells.namespace, cells.namespace) : NULL;
    error = value == NULL ? -1 : is_expression ? py_echo(value) : 0;
    Py_XDECREF(value);
    Py_DECREF(code);
    return error;
}

/* Runs it. What an interrupt raises at the last moment is the cell's, too. */
static void py_run_code(struct run *self)
{
    if (py_evaluate(self) != 0) {
        self->problem = py_exception_take();
    }
    if (py_gate_disarm() != 0) {
        PyObject *late = py_exception_take();
        if (self->problem == NULL) {
            self->problem = late;
        } else {
            Py_XDECREF(late);
        }
    }
}

/* ---- after -------------------------------------------------------------------------------- */

/* By a signal, not by `raise KeyboardInterrupt`. */
static bool py_was_interrupted(PyObject *problem)
{
    return gate_was_raised() && PyErr_GivenExceptionMatches(problem, PyExc_KeyboardInterrupt);
}

/* Where describing fails, too. */
static PyObject *py_describe_shortly(PyObject *problem)
{
    PyErr_Clear();
    PyObject *name = PyType_GetName(Py_TYPE(problem));
    PyObject *facts =
        name != NULL
            ? Py_BuildValue("(NOO)",
                            PyUnicode_FromFormat("%U: <traceback could not be formatted>\n", name),
                            Py_None, Py_None)
            : NULL;
    Py_XDECREF(name);
    return facts;
}

/* Runs the exceptions' own code, which may hang: armed. -> (error, error_lineno, error_call) */
static PyObject *py_describe(const struct run *self, bool *ret_interrupted)
{
    if (self->problem == NULL) {
        return Py_NewRef(cells.no_problem);
    }
    if (PyErr_GivenExceptionMatches(self->problem, PyExc_MemoryError)) {
        (void)xalloc_use_reserve(); /* what filled the memory may live on in the namespace */
    }
    PyObject *facts = NULL;
    *ret_interrupted = py_was_interrupted(self->problem);
    if (!*ret_interrupted) {
        bool before = gate_was_raised();
        gate_arm();
        facts = PyObject_CallFunctionObjArgs(frames_hook_b(FRAMES_DESCRIBE), self->problem,
                                             self->file, NULL);
        /* traceback swallows what a __str__ raises, but what came has come */
        *ret_interrupted = py_gate_disarm() != 0 || (gate_was_raised() && !before);
        PyErr_Clear();
    }
    if (*ret_interrupted) {
        Py_XDECREF(facts);
        return Py_BuildValue("(sOO)", "Interrupted", Py_None, Py_None);
    }
    if (facts == NULL || !PyTuple_Check(facts) || PyTuple_Size(facts) != 3) {
        Py_XDECREF(facts);
        facts = py_describe_shortly(self->problem);
    }
    return facts;
}

/* Whatever the cell has made of SIGINT, an idle worker survives it. */
static void py_disarm(void)
{
    (void)py_gate_request(0);
    if (py_gate_set_again() != 0) {
        PyErr_Clear(); /* it was told of at the cell's begin */
    }
}

static int py_respond(const struct run *self, PyObject *description, bool interrupted)
{
    PyObject *guards = py_guards_end();
    if (guards == NULL) {
        py_log_failure("guards unavailable");
    }
    PyObject *facts = py_try_hook(FRAMES_AFTER_CELL, "facts unavailable", NULL, NULL);
    const struct response response = {
        .id = cells.id,
        .out = self->out,
        .err = self->err,
        .description = description,
        .interrupted = interrupted,
        .files_read = self->files_read,
        .used = self->used,
        .guards = guards,
        .facts = facts,
    };
    int error = py_response_send(&response);
    Py_XDECREF(guards);
    Py_XDECREF(facts);
    return error;
}

/* A child of the cell's that came out of it has no part in what follows. */
static void py_end_if_child(const struct run *self)
{
    if (forked_is_child()) {
        py_forked_end(self->problem, frames_hook_b(FRAMES_REPORT));
    }
}

/* Between the streams' putting in and out again. */
static void py_run_within(struct run *self)
{
    struct usage_mark begin;
    if (py_guards_begin() != 0) {
        py_log_failure("guards unavailable");
    }
    usage_begin(USAGE_PEAK_OF_CELL, &begin);
    py_files_read_begin(self->file);
    py_run_code(self);
    self->files_read = py_files_read_end();
    if (self->files_read == NULL) {
        PyErr_Clear();
    }
    usage_end(&begin, &self->used);
    py_end_if_child(self);
}

/* `before` is taken; NULL: there is nothing to put back. */
static int py_put_back(enum frames_name name, PyObject *before)
{
    PyObject *of_cell = before != NULL ? py_sys_exchange(name, before) : NULL;
    Py_XDECREF(before);
    Py_XDECREF(of_cell);
    return of_cell != NULL ? 0 : -1;
}

static int py_run_with_streams(struct run *self)
{
    PyObject *out = py_sys_exchange(NAME_STDOUT, self->out);
    PyObject *err = out != NULL ? py_sys_exchange(NAME_STDERR, self->err) : NULL;
    int error = err != NULL ? 0 : -1;
    if (error == 0) {
        py_run_within(self);
    }
    /* `del sys.stdout` in a cell must not cost the next one its stream. */
    int out_error = py_put_back(NAME_STDOUT, out);
    int err_error = py_put_back(NAME_STDERR, err);
    return out_error == 0 && err_error == 0 ? error : -1;
}

int py_frames_cell_run(PyObject *code, PyObject *id, PyObject *origin)
{
    struct run run = {.code = code};
    bool interrupted = false;
    cells.count++;
    py_set_member(&cells.id, id);
    py_set_member(&cells.origin, origin);
    py_frames_cell_arm();
    post_cell_runs(true);
    int error = py_prepare(&run);
    if (error == 0) {
        error = py_run_with_streams(&run);
    }
    PyObject *description = error == 0 ? py_describe(&run, &interrupted) : NULL;
    py_disarm();
    post_cell_runs(false); /* before the response: the host sends what it likes after that */
    if (error == 0) {
        error = py_respond(&run, description, interrupted);
    }
    standard_mend();
    Py_XDECREF(description);
    Py_XDECREF(run.file);
    Py_XDECREF(run.out);
    Py_XDECREF(run.err);
    Py_XDECREF(run.problem);
    Py_XDECREF(run.files_read);
    return error;
}
