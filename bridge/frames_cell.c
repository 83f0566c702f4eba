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
#include "bridge/frames_half.h"
#include "bridge/frames_post.h"
#include "bridge/frames_standard.h"
#include "bridge/frames_stream.h"
#include "bridge/frames_write.h"
#include "bridge/gate.h"
#include "bridge/py_compat.h"
#include "bridge/usage.h"
#include "bridge/xalloc.h"

static struct {
    PyObject *namespace;
    PyObject *compile; /* builtins.compile */
    PyObject *mode;
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
    PyObject *facts;      /* what the response says beside, a dict, or NULL */
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
    PyObject *builtins = PyImport_ImportModule("builtins");
    cells.compile = builtins != NULL ? PyObject_GetAttrString(builtins, "compile") : NULL;
    cells.namespace = py_namespace_new();
    cells.mode = PyUnicode_DecodeFSDefault(mode);
    cells.has_host = strcmp(mode, "jupyter") != 0;
    cells.id = Py_NewRef(Py_None);
    cells.origin = Py_NewRef(Py_None);
    Py_XDECREF(builtins);
    return cells.compile != NULL && cells.namespace != NULL && cells.mode != NULL ? 0 : -1;
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

/* A hook whose failure is not the cell's: its text goes to the log. -> what it returned, or NULL.
 */
static PyObject *py_try_hook(enum frames_hook hook, const char *what, PyObject *first,
                             PyObject *second)
{
    PyObject *value = PyObject_CallFunctionObjArgs(frames_hook_b(hook), first, second, NULL);
    if (value == NULL) {
        PyObject *problem = py_exception_take();
        if (py_frame_log("%s: %S", what, problem) != 0) {
            PyErr_Clear();
        }
        Py_XDECREF(problem);
    }
    return value;
}

static void py_do_hook(enum frames_hook hook, const char *what, PyObject *first, PyObject *second)
{
    PyObject *value = py_try_hook(hook, what, first, second);
    Py_XDECREF(value);
}

static int py_prepare(struct run *self)
{
    self->file = PyUnicode_FromFormat("<kernel:%llu>", cells.count);
    if (self->file == NULL) {
        return -1;
    }
    py_do_hook(FRAMES_BEGIN, "source unavailable", self->file, self->code);
    if (cells.has_host && PyDict_GetItemString(cells.namespace, "host") == NULL) {
        py_do_hook(FRAMES_INSTALL_HOST, "host sdk unavailable", cells.namespace, cells.mode);
    }
    self->out = py_frames_stream_new(cells.id);
    self->err = py_frames_stream_new(NULL);
    return self->out != NULL && self->err != NULL ? 0 : -1;
}

/* ---- user code -------------------------------------------------------------------------- */

static PyObject *py_compile(const struct run *self, const char *mode)
{
    return PyObject_CallFunction(cells.compile, "OOsiO", self->code, self->file, mode, 0, Py_True);
}

/* As an expression, or else as statements. */
static PyObject *py_compile_any(const struct run *self, bool *ret_is_expression)
{
    PyObject *code = py_compile(self, "eval");
    *ret_is_expression = code != NULL;
    if (code == NULL && PyErr_ExceptionMatches(PyExc_SyntaxError)) {
        PyErr_Clear();
        code = py_compile(self, "exec");
    }
    return code;
}

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
    PyObject *code = py_compile_any(self, &is_expression);
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
        return Py_BuildValue("(OOO)", Py_None, Py_None, Py_None);
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

/* To four digits behind the point. */
static double rounded(double seconds)
{
    return (double)(long long)(seconds * 1e4 + 0.5) / 1e4;
}

static PyObject *py_text_of(PyObject *stream)
{
    PyObject *text = stream != NULL ? py_frames_stream_text(stream) : PyUnicode_FromString("");
    if (text == NULL) {
        PyErr_Clear(); /* a cell that closed it the hard way */
        text = PyUnicode_FromString("");
    }
    return text;
}

/* Whatever the cell has made of SIGINT, an idle worker survives it. */
static void py_disarm(void)
{
    (void)py_gate_request(0);
    if (py_gate_set_again() != 0) {
        PyErr_Clear(); /* it was told of at the cell's begin */
    }
}

/* Its ten keys; `description` is taken. */
static PyObject *py_response(const struct run *self, PyObject *description, bool interrupted)
{
    if (description == NULL) {
        return NULL;
    }
    PyObject *trace = Py_BuildValue("{s:O,s:O}", "error_lineno", PyTuple_GetItem(description, 1),
                                    "error_call", PyTuple_GetItem(description, 2));
    PyObject *usage =
        Py_BuildValue("{s:d,s:d,s:l}", "wall_s", rounded(self->used.wall_s), "cpu_s",
                      rounded(self->used.cpu_s), "peak_rss_kb", self->used.peak_rss_kb);
    PyObject *files = Py_XNewRef(self->files_read);
    files = files != NULL ? files : PyList_New(0);
    PyObject *response = NULL;
    if (trace != NULL && usage != NULL && files != NULL) {
        response = Py_BuildValue("{s:s,s:O,s:N,s:N,s:O,s:O,s:O,s:{},s:O,s:O}", "type", "response",
                                 "id", cells.id, "stdout", py_text_of(self->out), "stderr",
                                 py_text_of(self->err), "error", PyTuple_GetItem(description, 0),
                                 "interrupted", interrupted ? Py_True : Py_False, "trace", trace,
                                 "guards", "files_read", files, "usage", usage);
    }
    Py_XDECREF(files);
    if (response != NULL && self->facts != NULL && PyDict_Check(self->facts) &&
        PyDict_Update(response, self->facts) != 0) {
        PyErr_Clear();
    }
    Py_XDECREF(trace);
    Py_XDECREF(usage);
    Py_DECREF(description);
    return response;
}

static int py_send(PyObject *response)
{
    int error = response != NULL ? py_frame_write(response) : -1;
    Py_XDECREF(response);
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
    py_do_hook(FRAMES_BEFORE_CELL, "facts unavailable", self->file, NULL);
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

static int py_run_with_streams(struct run *self)
{
    PyObject *out = Py_XNewRef(PySys_GetObject("stdout"));
    PyObject *err = Py_XNewRef(PySys_GetObject("stderr"));
    int error =
        PySys_SetObject("stdout", self->out) == 0 ? PySys_SetObject("stderr", self->err) : -1;
    if (error == 0) {
        py_run_within(self);
    }
    /* `del sys.stdout` in a cell must not cost the next one its stream. */
    if (PySys_SetObject("stdout", out != NULL ? out : Py_None) != 0 ||
        PySys_SetObject("stderr", err != NULL ? err : Py_None) != 0) {
        error = -1;
    }
    Py_XDECREF(out);
    Py_XDECREF(err);
    return error;
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
        run.facts = py_try_hook(FRAMES_AFTER_CELL, "facts unavailable", NULL, NULL);
        error = py_send(py_response(&run, description, interrupted));
    }
    standard_mend();
    Py_XDECREF(run.file);
    Py_XDECREF(run.out);
    Py_XDECREF(run.err);
    Py_XDECREF(run.problem);
    Py_XDECREF(run.files_read);
    Py_XDECREF(run.facts);
    return error;
}

int py_frames_cell_refuse(PyObject *id, PyObject *why)
{
    return why != NULL
               ? py_send(Py_BuildValue("{s:s,s:O,s:s,s:s,s:O,s:O,s:{s:O,s:O},s:{},s:[],s:{}}",
                                       "type", "response", "id", id, "stdout", "", "stderr", "",
                                       "error", why, "interrupted", Py_False, "trace",
                                       "error_lineno", Py_None, "error_call", Py_None, "guards",
                                       "files_read", "usage"))
               : -1;
}
