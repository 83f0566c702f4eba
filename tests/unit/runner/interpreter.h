#ifndef TESTS_RUNNER_INTERPRETER_H
#define TESTS_RUNNER_INTERPRETER_H

/*
 * An interpreter for a test. Criterion runs each test in a process of its own,
 * so each gets a fresh one.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <criterion/criterion.h>

#include "bridge/py_compat.h"

static inline void interpreter_start(void)
{
    Py_InitializeEx(1);
    cr_assert(py_compat_init() == 0);
}

static inline void interpreter_stop(void)
{
    cr_assert(Py_FinalizeEx() == 0);
}

/* Runs statements in __main__. -> false: an exception, which stays set. */
static inline bool py_exec(const char *code)
{
    PyObject *main_b = PyImport_AddModule("__main__");
    PyObject *compiled = Py_CompileString(code, "<test>", Py_file_input);
    PyObject *result = NULL;
    if (compiled != NULL) {
        PyObject *names_b = PyModule_GetDict(main_b);
        result = PyEval_EvalCode(compiled, names_b, names_b);
    }
    Py_XDECREF(compiled);
    Py_XDECREF(result);
    return result != NULL;
}

/* The value of an expression in __main__; owned. */
static inline PyObject *py_eval(const char *expression)
{
    PyObject *compiled = Py_CompileString(expression, "<test>", Py_eval_input);
    cr_assert(compiled != NULL);
    PyObject *names_b = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *value = PyEval_EvalCode(compiled, names_b, names_b);
    Py_DECREF(compiled);
    return value;
}

#endif
