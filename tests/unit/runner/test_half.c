/* bridge/half.c: the Python half is found where it lies, and nowhere else. */

#include "bridge/half.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "interpreter.h"

PyMODINIT_FUNC PyInit__einkorn(void);

static void start(void)
{
    cr_assert(ge(int, PyImport_AppendInittab("_einkorn", PyInit__einkorn), 0));
    interpreter_start();
}

TestSuite(half, .init = start);

Test(half, all_hooks_are_there_and_sys_path_is_as_it_was)
{
    cr_assert(py_exec("import sys; before = list(sys.path)"));
    /* run() puts this into the module before it loads the half. */
    cr_assert(py_exec("import _einkorn, contextvars\n"
                      "_einkorn.cell = contextvars.ContextVar('cell')\n"
                      "_einkorn.context = contextvars.copy_context()\n"
                      "_einkorn.settings = ''\n"
                      "_einkorn.stdout, _einkorn.stderr = sys.stdout, sys.stderr"));
    int loaded = py_half_load(EINKORN_PYTHON_HALF);
    if (loaded != 0) {
        PyErr_Print();
    }
    cr_assert(eq(int, loaded, 0));
    for (int i = 0; i < HOOK_COUNT; i++) {
        cr_assert(ne(ptr, half_hook_b((enum half_hook)i), NULL), "hook %d", i);
        cr_expect(PyCallable_Check(half_hook_b((enum half_hook)i)), "hook %d", i);
    }
    cr_expect(py_exec("assert sys.path == before\n"
                      "assert 'einkorn.hooks' in sys.modules"));
}

Test(half, a_directory_without_it_is_an_error_that_names_it)
{
    static const char *const directories[] = {"/no/such/directory", "/", ""};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        cr_assert(eq(int, py_half_load(directories[i]), -1), "%s", directories[i]);
        cr_expect(PyErr_ExceptionMatches(PyExc_ImportError));
        PyErr_Clear();
    }
    cr_assert(eq(int, py_half_load("/no/such/directory"), -1));
    PyObject *problem = py_exception_take();
    PyObject *text = PyObject_Str(problem);
    cr_expect(zero(int, PyUnicode_CompareWithASCIIString(
                            text, "einkorn: its Python half is not in /no/such/directory")));
    Py_DECREF(text);
    Py_DECREF(problem);
}
