/* bridge/variables.c: what it does where a test of the whole worker cannot look. */

#include "bridge/variables.h"

#include <criterion/criterion.h>

#include "interpreter.h"

TestSuite(variables, .init = interpreter_start, .fini = interpreter_stop);

/* inspects `space` of __main__, puts the answer there as `found`. */
static void py_inspect(long limit)
{
    PyObject *space = py_eval("space");
    PyObject *found = py_variables(space, limit);
    cr_assert(found != NULL);
    PyObject *main_b = PyImport_AddModule("__main__");
    cr_assert(PyObject_SetAttrString(main_b, "found", found) == 0);
    Py_DECREF(found);
    Py_DECREF(space);
}

Test(variables, of_an_empty_namespace_are_none)
{
    cr_assert(py_exec("space = {}"));
    py_inspect(200);
    cr_assert(py_exec("assert found == {'variables': [], 'truncated': False, 'limit': 200}"));
}

Test(variables, keep_no_reference_to_a_value)
{
    cr_assert(py_exec("import sys\n"
                      "values = [object(), [object()], {1: 'a' * 70000}, {2.5}, b'x' * 70000]\n"
                      "space = {f'v{i}': v for i, v in enumerate(values)}\n"
                      "before = [sys.getrefcount(v) for v in values]\n"));
    py_inspect(500);
    cr_assert(py_exec("assert [sys.getrefcount(v) for v in values] == before\n"
                      "assert len(found['variables']) == 5\n"));
}

/* Before 3.12 any allocation may collect garbage, whose finalizers are the user's. */
Test(variables, bear_a_finalizer_that_empties_what_is_looked_at)
{
    cr_assert(py_exec("import gc\n"
                      "class Vicious:\n"
                      "    def __init__(self): self.me = self\n"
                      "    def __del__(self): space.clear(); row.clear(); table.clear()\n"
                      "row = [10 ** 30 + i for i in range(50)]\n"
                      "table = {i: str(i) * 9 for i in range(50)}\n"
                      "space = {f'v{i}': row if i % 2 else table for i in range(200)}\n"
                      "gc.collect()\n"
                      "gc.set_threshold(1)\n"
                      "Vicious()\n"));
    py_inspect(500);
    cr_assert(py_exec("gc.set_threshold(700)\n"
                      "assert len(found['variables']) in (0, 200), len(found['variables'])\n"));
}

Test(variables, of_a_namespace_without_memory_are_an_error_and_not_half_an_answer)
{
    cr_assert(py_exec("space = {f'v{i}': ['x' * 100] * 12 for i in range(9)}\n"
                      "import _testcapi\n"));
    PyObject *space = py_eval("space");
    PyObject *fail = py_eval("_testcapi.set_nomemory");
    PyObject *stop = py_eval("_testcapi.remove_mem_hooks");
    bool finished = false;
    for (int n = 0; n < 4000 && !finished; n++) {
        PyObject *which = Py_BuildValue("(ii)", n, n + 1);
        PyObject *set = PyObject_CallObject(fail, which);
        PyErr_Clear();
        PyObject *found = py_variables(space, 500);
        bool raised = PyErr_Occurred() != NULL;
        PyErr_Clear();
        PyObject *removed = PyObject_CallNoArgs(stop);
        cr_assert((found == NULL) == raised, "allocation %d", n);
        finished = found != NULL;
        Py_XDECREF(which);
        Py_XDECREF(set);
        Py_XDECREF(found);
        Py_XDECREF(removed);
    }
    cr_assert(finished);
    Py_DECREF(space);
    Py_DECREF(fail);
    Py_DECREF(stop);
}
