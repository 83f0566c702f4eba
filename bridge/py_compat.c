/*
 * What the limited API lacks. dlsym at run time and not a declaration, so that
 * a Python without one of these symbols still loads the runner. Main thread
 * with the GIL for init, any thread with the GIL for the rest. Owns nothing but
 * the addresses.
 */

#include "bridge/py_compat.h"

#include <dlfcn.h>

/* ISO C has no conversion from dlsym's pointer to a function's; a union has. */
static union {
    void *symbol[4];
    struct {
        PyObject *(*context_new)(void);
        PyObject *(*var_new)(const char *name, PyObject *otherwise);
        int (*var_get)(PyObject *var, PyObject *otherwise, PyObject **value);
        PyObject *(*var_set)(PyObject *var, PyObject *value);
    };
} compat;

int py_compat_init(void)
{
    static const char *const name[] = {
        "PyContext_New",
        "PyContextVar_New",
        "PyContextVar_Get",
        "PyContextVar_Set",
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        compat.symbol[i] = dlsym(RTLD_DEFAULT, name[i]);
    }
    return 0;
}

static PyObject *py_contextvars_call(const char *class, const char *format, const char *argument)
{
    PyObject *module = PyImport_ImportModule("_contextvars");
    if (module == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_CallMethod(module, class, format, argument);
    Py_DECREF(module);
    return result;
}

PyObject *py_context_new(void)
{
    return compat.context_new != NULL ? compat.context_new()
                                      : py_contextvars_call("Context", NULL, NULL);
}

PyObject *py_var_new(const char *name)
{
    return compat.var_new != NULL ? compat.var_new(name, NULL)
                                  : py_contextvars_call("ContextVar", "s", name);
}

int py_var_get(PyObject *var, PyObject **ret_value)
{
    if (compat.var_get != NULL) {
        return compat.var_get(var, NULL, ret_value);
    }
    PyObject *value = PyObject_CallMethod(var, "get", "O", Py_None);
    if (value == NULL) {
        return -1;
    }
    if (value == Py_None) {
        Py_CLEAR(value);
    }
    *ret_value = value;
    return 0;
}

int py_var_set(PyObject *var, PyObject *value)
{
    PyObject *token = compat.var_set != NULL ? compat.var_set(var, value)
                                             : PyObject_CallMethod(var, "set", "O", value);
    Py_XDECREF(token);
    return token != NULL ? 0 : -1;
}

PyObject *py_exception_take(void)
{
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        (void)PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* A surrogate takes three bytes, and so does U+FFFD. */
static void surrogates_replace(uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++) {
        if (p[i] == 0xed && p[i + 1] >= 0xa0) {
            p[i] = 0xef;
            p[i + 1] = 0xbf;
            p[i + 2] = 0xbd;
        }
    }
}

int py_text_utf8(PyObject *text, struct buffer *buffer, struct slice *ret_utf8)
{
    Py_ssize_t n = 0;
    const char *p = PyUnicode_AsUTF8AndSize(text, &n);
    if (p != NULL) {
        *ret_utf8 = (struct slice){(const uint8_t *)p, (size_t)n};
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        return -1;
    }
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (bytes == NULL) {
        return -1;
    }
    char *raw = NULL;
    if (PyBytes_AsStringAndSize(bytes, &raw, &n) != 0) {
        Py_DECREF(bytes);
        return -1;
    }
    size_t start = buffer->n;
    buffer_put(buffer, raw, (size_t)n);
    Py_DECREF(bytes);
    surrogates_replace(buffer->p + start, (size_t)n);
    *ret_utf8 = (struct slice){buffer->p + start, (size_t)n};
    return 0;
}

int py_text_put(struct buffer *buffer, PyObject *text)
{
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8;
    int error = text != NULL ? py_text_utf8(text, &scratch, &utf8) : -1;
    if (error == 0) {
        buffer_put_slice(buffer, utf8);
    }
    buffer_release(&scratch);
    Py_XDECREF(text);
    return error;
}

bool py_text_is(PyObject *value, const char *ascii)
{
    return value != NULL && PyUnicode_Check(value) &&
           PyUnicode_CompareWithASCIIString(value, ascii) == 0;
}

PyObject *py_text_from(struct slice utf8)
{
    return PyUnicode_DecodeUTF8((const char *)utf8.p, (Py_ssize_t)utf8.n, "surrogatepass");
}
