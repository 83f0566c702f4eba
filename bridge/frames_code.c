/*
 * The compiler's two modes: see frames_code.h. What plainly begins as a statement is
 * not tried as an expression first. Worker, main thread; owns builtins.compile, as it was at
 * the start, and its arguments.
 */

#include "bridge/frames_code.h"

#include "bridge/py_compat.h"
#include "bridge/statement.h"

static struct {
    PyObject *compile;
    PyObject *eval; /* modes */
    PyObject *exec;
    PyObject *no_flags;
} codes;

int py_frames_code_init(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    codes.compile = builtins != NULL ? PyObject_GetAttrString(builtins, "compile") : NULL;
    codes.eval = PyUnicode_FromString("eval");
    codes.exec = PyUnicode_FromString("exec");
    codes.no_flags = PyLong_FromLong(0);
    Py_XDECREF(builtins);
    return codes.compile != NULL && codes.eval != NULL && codes.exec != NULL &&
                   codes.no_flags != NULL
               ? 0
               : -1;
}

static PyObject *py_compile(PyObject *text, PyObject *file, PyObject *mode)
{
    return PyObject_CallFunctionObjArgs(codes.compile, text, file, mode, codes.no_flags, Py_True,
                                        NULL);
}

static bool py_is_statement(PyObject *text)
{
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8;
    bool is = py_text_utf8(text, &scratch, &utf8) == 0 && statement_begins(utf8);
    buffer_release(&scratch);
    PyErr_Clear();
    return is;
}

PyObject *py_frames_compile(PyObject *text, PyObject *file, bool *ret_is_expression)
{
    PyObject *code = NULL;
    bool is_statement = py_is_statement(text);
    if (!is_statement) {
        code = py_compile(text, file, codes.eval);
        is_statement = code == NULL && PyErr_ExceptionMatches(PyExc_SyntaxError);
    }
    *ret_is_expression = !is_statement;
    if (is_statement) {
        PyErr_Clear();
        code = py_compile(text, file, codes.exec);
    }
    return code;
}
