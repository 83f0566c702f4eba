/*
 * Compiles cells: see code.h. As long as no cell needed a syntax tree, one that is
 * a single expression is compiled without, which spares the first cell of a session
 * the types of all trees. Worker, main thread; owns the __future__ flags of the session.
 */

#include "bridge/code.h"

#include "bridge/half.h"

/* Flags of compile(), which have kept their values since 3.8. */
enum {
    ONLY_AST = 0x400,
    TOP_LEVEL_AWAIT = 0x2000,
    FUTURE_FLAGS = 0x1fe0000, /* CO_FUTURE_*: `from __future__ import …` lasts for the session */
    IS_COROUTINE = 0x80,      /* CO_COROUTINE: the code awaits */
};

static struct {
    PyObject *compile;    /* builtins.compile */
    PyObject *expression; /* _ast.Expression; NULL until a cell needs it: see py_load_ast */
    PyObject *expr;       /* _ast.Expr */
    long future;
} codes;

int py_code_init(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    codes.compile = builtins != NULL ? PyObject_GetAttrString(builtins, "compile") : NULL;
    Py_XDECREF(builtins);
    return codes.compile != NULL ? 0 : -1;
}

void py_code_release(struct code *self)
{
    Py_CLEAR(self->body);
    Py_CLEAR(self->last);
}

static PyObject *py_compile(PyObject *source, PyObject *file, const char *mode, long flags)
{
    return PyObject_CallFunction(codes.compile, "OOslO", source, file, mode,
                                 flags | TOP_LEVEL_AWAIT | codes.future, Py_True);
}

static long py_code_flags(PyObject *code)
{
    PyObject *value = PyObject_GetAttrString(code, "co_flags");
    long flags = value != NULL ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    if (flags == -1) {
        PyErr_Clear();
        return 0;
    }
    return flags;
}

/* A semicolon at the end of the cell silences it; most cells have none at all. -> 1, 0, -1. */
static int py_is_silenced(PyObject *text)
{
    Py_ssize_t at = PyUnicode_FindChar(text, ';', 0, PyUnicode_GetLength(text), -1);
    if (at < 0) {
        return at == -1 ? 0 : -1;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(half_hook_b(HOOK_SILENCED), text, NULL);
    int silenced = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return silenced;
}

/* Takes the last statement out of a body if it is an expression. NULL: it is none, or -1. */
static int py_take_last(PyObject *body, PyObject *text, PyObject **ret_expression)
{
    Py_ssize_t n = PyList_Size(body);
    PyObject *last_b = n > 0 ? PyList_GetItem(body, n - 1) : NULL;
    int is_expression = last_b != NULL ? PyObject_IsInstance(last_b, codes.expr) : 0;
    int silenced = is_expression > 0 ? py_is_silenced(text) : 0;
    if (is_expression < 0 || silenced < 0) {
        return -1;
    }
    if (is_expression == 0 || silenced > 0) {
        return 0;
    }
    PyObject *value = PyObject_GetAttrString(last_b, "value");
    PyObject *expression =
        value != NULL ? PyObject_CallFunctionObjArgs(codes.expression, value, NULL) : NULL;
    Py_XDECREF(value);
    if (expression == NULL || PyList_SetSlice(body, n - 1, n, NULL) != 0) {
        Py_XDECREF(expression);
        return -1;
    }
    *ret_expression = expression;
    return 0;
}

/* The types of syntax trees: a hundred of them, which take a millisecond to make. */
static int py_load_ast(void)
{
    PyObject *ast = PyImport_ImportModule("_ast");
    if (ast != NULL) {
        codes.expr = PyObject_GetAttrString(ast, "Expr");
        codes.expression = PyObject_GetAttrString(ast, "Expression");
    }
    Py_XDECREF(ast);
    return codes.expr != NULL && codes.expression != NULL ? 0 : -1;
}

/* One line that is not indented: an expression may be all there is. */
static bool is_plain_line(PyObject *text)
{
    Py_ssize_t n = PyUnicode_GetLength(text);
    return n > 0 && PyUnicode_ReadChar(text, 0) > ' ' &&
           PyUnicode_FindChar(text, '\n', 0, n, 1) == -1 &&
           PyUnicode_FindChar(text, '\r', 0, n, 1) == -1;
}

/* See above. -> 1: done, 0: it is something else, -1. */
static int py_compile_expression(PyObject *text, PyObject *file, struct code *code)
{
    if (codes.expression != NULL || !is_plain_line(text)) {
        return 0;
    }
    code->last = py_compile(text, file, "eval", 0);
    if (code->last != NULL) {
        return 1;
    }
    if (PyErr_ExceptionMatches(PyExc_SyntaxError)) {
        PyErr_Clear();
        return 0;
    }
    return -1;
}

static int py_compile_parts(PyObject *text, PyObject *file, struct code *code)
{
    int error = py_compile_expression(text, file, code);
    if (error != 0) {
        return error > 0 ? 0 : -1;
    }
    if (codes.expression == NULL && py_load_ast() != 0) {
        return -1;
    }
    error = -1;
    PyObject *expression = NULL;
    PyObject *tree = py_compile(text, file, "exec", ONLY_AST);
    PyObject *body = tree != NULL ? PyObject_GetAttrString(tree, "body") : NULL;
    if (body != NULL && py_take_last(body, text, &expression) == 0) {
        error = 0;
        if (PyList_Size(body) > 0) {
            code->body = py_compile(tree, file, "exec", 0);
            error = code->body != NULL ? 0 : -1;
        }
    }
    if (error == 0 && code->body != NULL) {
        codes.future |= py_code_flags(code->body) & FUTURE_FLAGS;
    }
    if (error == 0 && expression != NULL) {
        code->last = py_compile(expression, file, "eval", 0);
        error = code->last != NULL ? 0 : -1;
    }
    Py_XDECREF(tree);
    Py_XDECREF(body);
    Py_XDECREF(expression);
    return error;
}

int py_code_compile(PyObject *text, PyObject *file, struct code *ret_code)
{
    struct code code = {NULL, NULL};
    if (py_compile_parts(text, file, &code) != 0) {
        py_code_release(&code);
        return -1;
    }
    *ret_code = code;
    return 0;
}

long code_future_flags(void)
{
    return codes.future;
}

bool py_code_awaits(PyObject *code)
{
    return (py_code_flags(code) & IS_COROUTINE) != 0;
}
