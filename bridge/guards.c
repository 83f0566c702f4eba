/*
 * Guards: see guards.h. Two looks at a cell cost more than a small cell itself if they
 * are Python, so looking and comparing is done here, and the Python half is called only
 * where something differs, or where pyplot is loaded. Nothing is imported for it: a process
 * without pyplot has no figures. Filters are compared by identity: they hold classes, whose
 * `==` may be a cell's. Worker, main thread; owns what there was when the cell began.
 */

#include "bridge/guards.h"

#include <stdbool.h>

/* How things stand. Without an environment nobody wants to know. */
struct look {
    PyObject *environment; /* dict, of bytes as a rule: to decode all of it takes longer */
    PyObject *filters;     /* list */
    PyObject *figures;     /* their numbers, oldest first: list; None: no pyplot */
};

/* Names that are asked for at each look. */
enum { DATA, ENVIRON, FILTERS, OFF, ON, PYPLOT, WARNINGS, NAMES };

static struct {
    PyObject *name[NAMES];
    PyObject *os;
    PyObject *c_warnings; /* has the filters until `warnings` is imported */
    PyObject *modules;
    PyObject *figures;
    PyObject *report;
    struct look before;
} guards;

static int py_names_init(void)
{
    static const char *const texts[NAMES] = {
        [DATA] = "_data",        [ENVIRON] = "environ",
        [FILTERS] = "filters",   [PYPLOT] = "matplotlib._pylab_helpers",
        [WARNINGS] = "warnings",
    };
    for (int i = 0; i < NAMES; i++) {
        guards.name[i] = i == OFF  ? PyBytes_FromString("OPENAI4S_GUARDS_OFF")
                         : i == ON ? PyBytes_FromString("1")
                                   : PyUnicode_InternFromString(texts[i]);
        if (guards.name[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

int py_guards_init(PyObject *figures, PyObject *report)
{
    PyObject *modules_b = PySys_GetObject("modules");
    guards.os = PyImport_ImportModule("os");
    guards.c_warnings = guards.os != NULL ? PyImport_ImportModule("_warnings") : NULL;
    if (guards.c_warnings == NULL || modules_b == NULL || py_names_init() != 0) {
        return -1;
    }
    guards.modules = Py_NewRef(modules_b);
    guards.figures = Py_NewRef(figures);
    guards.report = Py_NewRef(report);
    return 0;
}

/* ---- looking ---------------------------------------------------------------------------- */

static void look_release(struct look *self)
{
    Py_CLEAR(self->environment);
    Py_CLEAR(self->filters);
    Py_CLEAR(self->figures);
}

/* An attribute that is not there is none. -> 0, -1 with an exception. */
static int py_attribute(PyObject *object, int name, PyObject **ret_value)
{
    PyObject *value = PyObject_GetAttr(object, guards.name[name]);
    if (value == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    PyErr_Clear();
    *ret_value = value;
    return 0;
}

/* The dict behind os.environ; a cell may have put something else there. -> as py_attribute. */
static int py_environment(PyObject **ret_data)
{
    PyObject *environ = NULL;
    PyObject *data = NULL;
    int error = py_attribute(guards.os, ENVIRON, &environ);
    if (error == 0 && environ != NULL) {
        error = py_attribute(environ, DATA, &data);
    }
    Py_XDECREF(environ);
    if (error == 0 && data != NULL && !PyDict_CheckExact(data)) {
        Py_CLEAR(data);
    }
    if (error == 0) {
        *ret_data = data;
    }
    return error;
}

/* 1: nobody wants to know, 0, -1 with an exception: of a key's own comparison. */
static int py_is_off(PyObject *environment)
{
    PyObject *value_b =
        environment != NULL ? PyDict_GetItemWithError(environment, guards.name[OFF]) : NULL;
    if (value_b == NULL) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    return PyObject_RichCompareBool(value_b, guards.name[ON], Py_EQ);
}

/* The module of that name, if it is loaded, else the other one. New. */
static PyObject *py_loaded(int name, PyObject *otherwise)
{
    PyObject *module_b = PyDict_GetItemWithError(guards.modules, guards.name[name]);
    PyErr_Clear();
    return Py_NewRef(module_b != NULL ? module_b : otherwise);
}

/* -> list, new; NULL with an exception. */
static PyObject *py_filters(void)
{
    PyObject *module = py_loaded(WARNINGS, guards.c_warnings);
    PyObject *filters = NULL;
    int error = py_attribute(module, FILTERS, &filters);
    Py_DECREF(module);
    if (error == 0 && (filters == NULL || !PyList_CheckExact(filters))) {
        Py_XDECREF(filters);
        filters = PyList_New(0);
    }
    return filters;
}

/* -> list, or None: no pyplot. New; NULL with an exception. */
static PyObject *py_figures(void)
{
    PyObject *module = py_loaded(PYPLOT, Py_None);
    PyObject *figures = module == Py_None
                            ? Py_NewRef(Py_None)
                            : PyObject_CallFunctionObjArgs(guards.figures, module, NULL);
    Py_DECREF(module);
    return figures;
}

static int py_look_at_all(struct look *self, PyObject *environment)
{
    self->environment = environment != NULL ? Py_NewRef(environment) : PyDict_New();
    self->filters = self->environment != NULL ? py_filters() : NULL;
    self->figures = self->filters != NULL ? py_figures() : NULL;
    return self->figures != NULL ? 0 : -1;
}

/* At the things themselves, which change. -> 0, -1 with an exception. */
static int py_look(struct look *ret_look)
{
    struct look look = {NULL, NULL, NULL};
    PyObject *environment = NULL;
    int error = py_environment(&environment);
    int off = error == 0 ? py_is_off(environment) : -1;
    error = off == 0 ? py_look_at_all(&look, environment) : off < 0 ? -1 : 0;
    Py_XDECREF(environment);
    if (error == 0) {
        *ret_look = look;
    } else {
        look_release(&look);
    }
    return error;
}

/* ---- comparing -------------------------------------------------------------------------- */

static bool py_are_the_same(PyObject *before, PyObject *now)
{
    Py_ssize_t n = PyList_Size(before);
    bool same = n == PyList_Size(now);
    for (Py_ssize_t i = 0; i < n && same; i++) {
        same = PyList_GetItem(before, i) == PyList_GetItem(now, i);
    }
    return same;
}

/* 1: nothing differs, 0, -1 with an exception. */
static int py_is_unchanged(const struct look *before, const struct look *now)
{
    if (before->figures != Py_None || now->figures != Py_None ||
        !py_are_the_same(before->filters, now->filters)) {
        return 0;
    }
    return PyObject_RichCompareBool(before->environment, now->environment, Py_EQ);
}

static PyObject *py_tuple_of(const struct look *self)
{
    return PyTuple_Pack(3, self->environment, self->filters, self->figures);
}

static PyObject *py_report(const struct look *before, const struct look *now)
{
    PyObject *then = py_tuple_of(before);
    PyObject *today = then != NULL ? py_tuple_of(now) : NULL;
    PyObject *report =
        today != NULL ? PyObject_CallFunctionObjArgs(guards.report, then, today, NULL) : NULL;
    Py_XDECREF(then);
    Py_XDECREF(today);
    return report;
}

/* ---- a cell ----------------------------------------------------------------------------- */

int py_guards_begin(void)
{
    struct look now = {NULL, NULL, NULL};
    int error = py_look(&now);
    look_release(&guards.before);
    if (error == 0 && now.environment != NULL) {
        guards.before = (struct look){
            .environment = PyDict_Copy(now.environment),
            .filters = PyList_GetSlice(now.filters, 0, PyList_Size(now.filters)),
            .figures = Py_NewRef(now.figures),
        };
        error = guards.before.environment != NULL && guards.before.filters != NULL ? 0 : -1;
    }
    look_release(&now);
    if (error != 0) {
        look_release(&guards.before);
    }
    return error;
}

PyObject *py_guards_end(void)
{
    struct look before = guards.before;
    struct look now = {NULL, NULL, NULL};
    PyObject *report = NULL;
    guards.before = now;
    if (py_look(&now) == 0) {
        bool wanted = before.environment != NULL && now.environment != NULL;
        int unchanged = wanted ? py_is_unchanged(&before, &now) : 1;
        report = unchanged > 0 ? PyDict_New() : unchanged == 0 ? py_report(&before, &now) : NULL;
    }
    look_release(&before);
    look_release(&now);
    return report;
}
