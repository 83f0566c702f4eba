/*
 * A cell's way: begin (the Python half names its source), compile, run, echo
 * the last expression, evaluate user_expressions, flush, describe what went
 * wrong, reply. User code runs by `context.run(eval, code, namespace)`, so no
 * Python frame of ours lies between the interpreter and the cell. All of it
 * happens with the gate armed; what an interrupt raises is the cell's error like
 * any other. Exceptions are data here: never printed, never left set. Worker,
 * main thread; owns the namespace.
 */

#include "bridge/cell.h"

#include <stdio.h>

#include "bridge/api.h"
#include "bridge/code.h"
#include "bridge/facts.h"
#include "bridge/forked.h"
#include "bridge/gate.h"
#include "bridge/half.h"
#include "bridge/py_json.h"
#include "bridge/speaker.h"
#include "bridge/stream_say.h"
#include "bridge/streams.h"
#include "bridge/xalloc.h"

static struct {
    PyObject *namespace;
    PyObject *eval; /* builtins.eval */
    PyObject *run;  /* _einkorn.context.run */
} cells;

int py_cell_init(PyObject *namespace)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    int error = -1;
    if (builtins != NULL) {
        cells.namespace = Py_NewRef(namespace);
        cells.eval = PyObject_GetAttrString(builtins, "eval");
        cells.run = PyObject_GetAttrString(speaker_context_b(), "run");
        error = PyErr_Occurred() == NULL ? py_code_init() : -1;
    }
    Py_XDECREF(builtins);
    return error;
}

/* ---- running ------------------------------------------------------------------ */

/* An interrupt came before it was a task's: Python would warn that it "was never awaited". */
static void py_close_unstarted(PyObject *coroutine)
{
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *suspended = PyObject_GetAttrString(coroutine, "cr_suspended");
    if (suspended == Py_False) { /* a task may still hold it otherwise */
        PyObject *done = PyObject_CallMethod(coroutine, "close", NULL);
        Py_XDECREF(done);
    }
    Py_XDECREF(suspended);
    PyErr_Restore(type, value, traceback);
}

static PyObject *py_evaluate(PyObject *code)
{
    PyObject *value =
        PyObject_CallFunctionObjArgs(cells.run, cells.eval, code, cells.namespace, NULL);
    if (value == NULL || !py_code_awaits(code)) {
        return value;
    }
    PyObject *result = PyObject_CallFunctionObjArgs(half_hook_b(HOOK_COROUTINE), value, NULL);
    if (result == NULL) {
        py_close_unstarted(value);
    }
    Py_DECREF(value);
    return result;
}

static int py_echo(const struct cell *self, PyObject *value)
{
    if (value == Py_None || self->silent) {
        return 0;
    }
    PyObject *done =
        PyObject_CallFunction(cells.run, "OOkO", half_hook_b(HOOK_ECHO), value,
                              (unsigned long)self->count, self->store ? Py_True : Py_False);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int py_run_code(const struct cell *self, const struct code *code)
{
    if (code->body != NULL) {
        PyObject *nothing = py_evaluate(code->body);
        if (nothing == NULL) {
            return -1;
        }
        Py_DECREF(nothing);
    }
    if (code->last == NULL) {
        return 0;
    }
    PyObject *value = py_evaluate(code->last);
    int error = value != NULL ? py_echo(self, value) : -1;
    Py_XDECREF(value);
    return error;
}

/* What a cell leaves for its reply. */
struct outcome {
    struct buffer expressions; /* JSON */
    struct buffer error;       /* members of the reply; empty: none */
    bool told;                 /* the error was published by who made it */
};

static PyObject *py_call_with_cell(enum half_hook hook, const struct cell *self)
{
    return PyObject_CallFunction(half_hook_b(hook), "kOOO", (unsigned long)self->count, self->code,
                                 self->store ? Py_True : Py_False,
                                 self->silent ? Py_True : Py_False);
}

/* By IPython, which shows its errors itself. */
static int py_run_in_shell(const struct cell *self, struct outcome *outcome)
{
    PyObject *facts = py_call_with_cell(HOOK_RUN, self);
    PyObject *ename_b = NULL;
    PyObject *evalue_b = NULL;
    PyObject *traceback_b = NULL;
    int error = facts != NULL ? 0 : -1;
    if (error == 0 && facts != Py_None) {
        outcome->told = true;
        error = PyArg_ParseTuple(facts, "OOO", &ename_b, &evalue_b, &traceback_b)
                    ? py_put_error(&outcome->error, ename_b, evalue_b, traceback_b)
                    : -1;
    }
    Py_XDECREF(facts);
    return error;
}

/* A cell that is no Python may be IPython's. Keeps the SyntaxError where it is not. -> 1, 0 */
static int py_is_for_shell(const struct cell *self)
{
    if (!PyErr_ExceptionMatches(PyExc_SyntaxError)) {
        return 0;
    }
    PyObject *problem = py_exception_take();
    PyObject *answer =
        PyObject_CallFunction(half_hook_b(HOOK_TAKE_OVER), "kO", (unsigned long)self->count,
                              self->store ? Py_True : Py_False);
    if (answer == Py_False) {
        PyErr_SetObject((PyObject *)Py_TYPE(problem), problem);
    }
    Py_DECREF(problem);
    Py_XDECREF(answer);
    return answer == Py_True;
}

static int py_run_source(const struct cell *self, struct outcome *outcome)
{
    PyObject *file = py_call_with_cell(HOOK_BEGIN, self);
    if (file == NULL) {
        return -1;
    }
    gate_arm(); /* not before: an interrupt would leave In, _i and the source half recorded */
    struct code code = {NULL, NULL};
    if (file != Py_None) {
        py_facts_run(file);
    }
    int error = file != Py_None ? py_code_compile(self->code, file, &code) : 0;
    if (file == Py_None || (error != 0 && py_is_for_shell(self))) {
        error = py_run_in_shell(self, outcome);
    } else if (error == 0) {
        error = py_run_code(self, &code);
    }
    py_code_release(&code);
    Py_DECREF(file);
    return error;
}

/* user_expressions as JSON; "{}" without any. */
static int py_run_expressions(const struct cell *self, struct buffer *ret_json)
{
    if (self->expressions == NULL || PyDict_Size(self->expressions) == 0) {
        buffer_put_text(ret_json, "{}");
        return 0;
    }
    PyObject *results = PyObject_CallFunctionObjArgs(cells.run, half_hook_b(HOOK_EXPRESSIONS),
                                                     self->expressions, NULL);
    int error = results != NULL ? py_json_put(ret_json, results) : -1;
    Py_XDECREF(results);
    return error;
}

/* All of the cell that runs user code, and its preparation. -> what it raised, or NULL. */
static PyObject *py_run_armed(const struct cell *self, struct outcome *outcome)
{
    PyObject *problem = NULL;
    if (py_run_source(self, outcome) != 0 ||
        (!outcome->told && py_run_expressions(self, &outcome->expressions) != 0)) {
        problem = py_exception_take();
    }
    if (py_streams_flush_others() != 0 || py_gate_disarm() != 0) {
        PyObject *late = py_exception_take();
        if (problem == NULL) {
            problem = late;
        } else {
            Py_XDECREF(late);
        }
    }
    return problem;
}

/* ---- errors ---------------------------------------------------------------------- */

/* Where describing fails itself: the name of the exception's class. */
static void py_describe_shortly(PyObject *problem, struct buffer *members)
{
    PyErr_Clear();
    buffer_clear(members);
    PyObject *name = PyType_GetName(Py_TYPE(problem));
    PyObject *empty = PyUnicode_FromString("");
    PyObject *lines = name != NULL ? Py_BuildValue("[O]", name) : NULL;
    if (empty == NULL || lines == NULL || py_put_error(members, name, empty, lines) != 0) {
        PyErr_Clear();
        buffer_clear(members);
        buffer_put_text(members, "\"ename\":\"MemoryError\",\"evalue\":\"\",\"traceback\":[]");
    }
    Py_XDECREF(name);
    Py_XDECREF(empty);
    Py_XDECREF(lines);
}

/* Runs the exception's own code (__str__), which may hang: armed again. */
void py_cell_describe(PyObject *problem, struct buffer *members)
{
    if (PyErr_GivenExceptionMatches(problem, PyExc_MemoryError)) {
        (void)xalloc_use_reserve(); /* what filled the memory may live on in the namespace */
    }
    gate_arm();
    PyObject *facts =
        PyObject_CallFunctionObjArgs(cells.run, half_hook_b(HOOK_DESCRIBE), problem, NULL);
    if (py_gate_disarm() != 0) {
        Py_CLEAR(facts);
    }
    PyObject *ename_b = NULL;
    PyObject *evalue_b = NULL;
    PyObject *traceback_b = NULL;
    if (facts == NULL || !PyArg_ParseTuple(facts, "OOO", &ename_b, &evalue_b, &traceback_b) ||
        py_put_error(members, ename_b, evalue_b, traceback_b) != 0) {
        py_describe_shortly(problem, members);
    }
    Py_XDECREF(facts);
}

static void py_publish_error(struct speaker *speaker, const struct buffer *members)
{
    struct buffer content = BUFFER_INIT;
    buffer_put_char(&content, '{');
    buffer_put_slice(&content, buffer_slice(members));
    buffer_put_char(&content, '}');
    if (py_publish_text(speaker, "error", buffer_slice(&content)) != 0) {
        PyErr_Clear(); /* the reply says the same */
    }
    buffer_release(&content);
}

/* ---- the end ------------------------------------------------------------------------ */

/* What stdio holds back in C code goes out; that may block, so without the GIL. */
static void py_flush_stdio(void)
{
    PyThreadState *state = PyEval_SaveThread();
    (void)fflush(NULL);
    PyEval_RestoreThread(state);
}

/* Streams of the user's own are flushed, which may hang: armed, though nothing can fail now. */
static void py_end(void)
{
    gate_arm();
    PyObject *done = PyObject_CallFunctionObjArgs(cells.run, half_hook_b(HOOK_END), NULL);
    Py_XDECREF(done);
    PyErr_Clear();
    if (py_gate_disarm() != 0) {
        PyErr_Clear();
    }
}

/* All that the cell wrote leaves before its reply does. */
void py_cell_finish(struct speaker *speaker)
{
    py_end();
    if (py_streams_finish() != 0) {
        PyErr_Clear();
    }
    py_flush_stdio();
    if (py_speaker_end(speaker) != 0) {
        PyErr_Clear();
    }
}

int py_cell_flush(struct speaker *speaker)
{
    int error = py_streams_flush_others();
    PyObject *problem = error != 0 ? py_exception_take() : NULL;
    py_flush_stdio();
    if (py_speaker_end(speaker) != 0 && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        Py_XDECREF(problem);
        problem = py_exception_take();
    }
    PyErr_Clear();
    if (problem == NULL) {
        return 0;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(problem), problem);
    Py_DECREF(problem);
    return -1;
}

static int py_reply(const struct cell *self, struct speaker *speaker, const struct outcome *outcome,
                    const struct usage_mark *begin)
{
    struct buffer metadata = BUFFER_INIT;
    bool failed = outcome->error.n > 0;
    struct buffer content = BUFFER_INIT;
    buffer_put_text(&content, failed ? "{\"status\":\"error\"," : "{\"status\":\"ok\",");
    if (failed) {
        buffer_put_slice(&content, buffer_slice(&outcome->error));
        buffer_put_char(&content, ',');
    }
    buffer_put_text(&content, "\"user_expressions\":");
    buffer_put_slice(&content, failed ? slice_of("{}") : buffer_slice(&outcome->expressions));
    buffer_put_text(&content, ",\"payload\":");
    size_t payload_at = content.n;
    if (py_json_put(&content, speaker->payload) != 0) {
        PyErr_Clear();
        content.n = payload_at;
        buffer_put_text(&content, "[]");
    }
    buffer_put_char(&content, '}');
    py_facts_put(begin, &metadata);
    int error = self->port->py_done(self->request, buffer_slice(&content), buffer_slice(&metadata),
                                    failed           ? "error"
                                    : speaker->exits ? "exit"
                                                     : "ok");
    buffer_release(&content);
    buffer_release(&metadata);
    return error;
}

int py_cell_run(const struct cell *self)
{
    struct outcome outcome = {BUFFER_INIT, BUFFER_INIT, false};
    struct speaker *speaker =
        py_speaker_begin(self->port, self->request, &self->message, self->allow_stdin);
    if (speaker == NULL) {
        return -1;
    }
    struct usage_mark begin;
    py_facts_begin(&begin);
    PyObject *problem = py_run_armed(self, &outcome);
    if (forked_is_child()) {
        py_forked_end(problem, half_hook_b(HOOK_DESCRIBE));
    }
    if (problem != NULL) {
        buffer_clear(&outcome.error);
        py_cell_describe(problem, &outcome.error);
        Py_CLEAR(problem);
        py_publish_error(speaker, &outcome.error);
    }
    py_cell_finish(speaker);
    int error = py_reply(self, speaker, &outcome, &begin);
    buffer_release(&outcome.expressions);
    buffer_release(&outcome.error);
    return error;
}
