/* JSON of plain values: see py_json_plain.h. Worker, any thread with the GIL; owns nothing. */

#include "bridge/py_json_plain.h"

#include <math.h>

#include "bridge/py_compat.h"
#include "bridge/py_json.h"

enum { DEPTH_MAX = 50 }; /* what is nested deeper, or in itself, is json's to judge */

static bool py_put(struct buffer *buffer, PyObject *value, int depth);

static bool py_put_text(struct buffer *buffer, PyObject *text, int depth)
{
    (void)depth;
    return py_json_put_text(buffer, text) == 0;
}

/* -> false: more digits than Python writes. */
static bool py_put_digits(struct buffer *buffer, PyObject *value)
{
    return py_text_put(buffer, PyObject_Repr(value)) == 0;
}

static bool py_put_int(struct buffer *buffer, PyObject *value, int depth)
{
    (void)depth;
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) {
        buffer_put_number(buffer, number);
        return true;
    }
    return py_put_digits(buffer, value);
}

/* As Python's json writes and reads them. */
static const char *not_finite(double number)
{
    return isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

static bool py_put_float(struct buffer *buffer, PyObject *value, int depth)
{
    (void)depth;
    double number = PyFloat_AsDouble(value);
    if (!isfinite(number)) {
        buffer_put_text(buffer, not_finite(number));
        return true;
    }
    char *text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text != NULL) {
        buffer_put_text(buffer, text);
    }
    PyMem_Free(text);
    return text != NULL;
}

static bool py_put_bool(struct buffer *buffer, PyObject *value, int depth)
{
    (void)depth;
    buffer_put_text(buffer, value == Py_True ? "true" : "false");
    return true;
}

static bool py_put_items(struct buffer *buffer, PyObject *value, Py_ssize_t n,
                         PyObject *(*item_b)(PyObject *value, Py_ssize_t i), int depth)
{
    buffer_put_char(buffer, '[');
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i > 0) {
            buffer_put_text(buffer, ", ");
        }
        if (!py_put(buffer, item_b(value, i), depth - 1)) {
            return false;
        }
    }
    buffer_put_char(buffer, ']');
    return true;
}

static bool py_put_list(struct buffer *buffer, PyObject *value, int depth)
{
    return py_put_items(buffer, value, PyList_Size(value), PyList_GetItem, depth);
}

static bool py_put_tuple(struct buffer *buffer, PyObject *value, int depth)
{
    return py_put_items(buffer, value, PyTuple_Size(value), PyTuple_GetItem, depth);
}

static bool py_put_dict(struct buffer *buffer, PyObject *value, int depth)
{
    Py_ssize_t at = 0;
    PyObject *key_b = NULL;
    PyObject *item_b = NULL;
    const char *before = "{";
    while (PyDict_Next(value, &at, &key_b, &item_b)) {
        buffer_put_text(buffer, before);
        before = ", ";
        if (!PyUnicode_CheckExact(key_b) || !py_put_text(buffer, key_b, depth)) {
            return false;
        }
        buffer_put_text(buffer, ": ");
        if (!py_put(buffer, item_b, depth - 1)) {
            return false;
        }
    }
    buffer_put_text(buffer, *before == '{' ? "{}" : "}");
    return true;
}

static bool py_put(struct buffer *buffer, PyObject *value, int depth)
{
    static const struct {
        PyTypeObject *type;
        bool (*py_put)(struct buffer *buffer, PyObject *value, int depth);
    } kinds[] = {
        {&PyUnicode_Type, py_put_text}, {&PyLong_Type, py_put_int},  {&PyFloat_Type, py_put_float},
        {&PyBool_Type, py_put_bool},    {&PyList_Type, py_put_list}, {&PyTuple_Type, py_put_tuple},
        {&PyDict_Type, py_put_dict},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (Py_TYPE(value) == kinds[i].type) {
            return depth >= 0 && kinds[i].py_put(buffer, value, depth);
        }
    }
    if (value == Py_None) {
        buffer_put_text(buffer, "null");
    }
    return value == Py_None;
}

bool py_json_plain_put(struct buffer *buffer, PyObject *value)
{
    size_t start = buffer->n;
    bool is_plain = py_put(buffer, value, DEPTH_MAX);
    if (!is_plain) {
        buffer->n = start;
        PyErr_Clear(); /* no memory: whoever tries again will see */
    }
    return is_plain;
}
