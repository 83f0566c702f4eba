/*
 * Loads the Python half: see half.h. By importlib's frozen core, which every
 * interpreter has in memory already: `importlib` itself costs a millisecond.
 * Main thread; owns the hooks.
 */

#include "bridge/half.h"

static PyObject *hooks[HOOK_COUNT];

static const char *const hook_name[HOOK_COUNT] = {
    [HOOK_START] = "start",
    [HOOK_BEGIN] = "begin",
    [HOOK_TAKE_OVER] = "take_over",
    [HOOK_RUN] = "run",
    [HOOK_ECHO] = "echo",
    [HOOK_SILENCED] = "silenced",
    [HOOK_DESCRIBE] = "describe",
    [HOOK_EXPRESSIONS] = "expressions",
    [HOOK_COROUTINE] = "run_coroutine",
    [HOOK_IDLE] = "idle",
    [HOOK_END] = "end",
    [HOOK_FINISH] = "finish",
};

static PyObject *py_find_spec(const char *library)
{
    PyObject *external = PyImport_ImportModule("_frozen_importlib_external");
    PyObject *finder = external != NULL ? PyObject_GetAttrString(external, "PathFinder") : NULL;
    PyObject *directory = PyUnicode_DecodeFSDefault(library);
    PyObject *spec = NULL;
    if (finder != NULL && directory != NULL) {
        spec = PyObject_CallMethod(finder, "find_spec", "s[O]", "einkorn", directory);
    }
    if (spec == Py_None) {
        PyErr_Format(PyExc_ImportError, "einkorn: its Python half is not in %s", library);
        Py_CLEAR(spec);
    }
    Py_XDECREF(external);
    Py_XDECREF(finder);
    Py_XDECREF(directory);
    return spec;
}

static PyObject *py_half_import(const char *library, const char *module)
{
    PyObject *spec = py_find_spec(library);
    PyObject *frozen = spec != NULL ? PyImport_ImportModule("_frozen_importlib") : NULL;
    PyObject *package = frozen != NULL ? PyObject_CallMethod(frozen, "_load", "O", spec) : NULL;
    PyObject *imported = package != NULL ? PyImport_ImportModule(module) : NULL;
    Py_XDECREF(spec);
    Py_XDECREF(frozen);
    Py_XDECREF(package);
    return imported;
}

int py_half_find(const char *library, const char *module, const char *const *names, size_t count,
                 PyObject **ret_hooks)
{
    PyObject *found = py_half_import(library, module);
    int error = found != NULL ? 0 : -1;
    for (size_t i = 0; i < count && error == 0; i++) {
        ret_hooks[i] = PyObject_GetAttrString(found, names[i]);
        error = ret_hooks[i] != NULL ? 0 : -1;
    }
    Py_XDECREF(found);
    return error;
}

int py_half_load(const char *library)
{
    return py_half_find(library, "einkorn.hooks", hook_name, HOOK_COUNT, hooks);
}

PyObject *half_hook_b(enum half_hook hook)
{
    return hooks[hook];
}
