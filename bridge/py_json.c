/*
 * The JSON encoder: see py_json.h. A table of "is it this kind? then write it
 * so", in order of how often each comes. Recursion is bounded by Python's own
 * limit, so a list that holds itself is a RecursionError. Values are held while
 * their own code (str, iteration) may run and change what holds them. Worker,
 * any thread with the GIL; owns nothing.
 */

#include "bridge/py_json.h"

#include <math.h>

#include "bridge/json_text.h"

int py_json_put_text(struct buffer *buffer, PyObject *text)
{
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8;
    int error = py_text_utf8(text, &scratch, &utf8);
    if (error == 0) {
        json_put_string(buffer, utf8);
    }
    buffer_release(&scratch);
    return error;
}

static int py_put_str_of(struct buffer *buffer, PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    int error = text != NULL ? py_json_put_text(buffer, text) : -1;
    Py_XDECREF(text);
    return error;
}

static bool py_is_constant(PyObject *value)
{
    return value == Py_None || value == Py_True || value == Py_False;
}

static int py_put_constant(struct buffer *buffer, PyObject *value)
{
    buffer_put_text(buffer, value == Py_None ? "null" : value == Py_True ? "true" : "false");
    return 0;
}

static bool py_is_text(PyObject *value)
{
    return PyUnicode_Check(value);
}

static bool py_is_int(PyObject *value)
{
    return PyLong_Check(value);
}

/* Python refuses to write integers of more than 4,300 digits in decimal: those go as hex text. */
static int py_put_big(struct buffer *buffer, PyObject *value)
{
    PyObject *digits = PyNumber_ToBase(value, 10);
    if (digits == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        digits = PyNumber_ToBase(value, 16);
        int error = digits != NULL ? py_json_put_text(buffer, digits) : -1;
        Py_XDECREF(digits);
        return error;
    }
    return py_text_put(buffer, digits);
}

static int py_put_int(struct buffer *buffer, PyObject *value)
{
    int overflow = 0;
    long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        return py_put_big(buffer, value);
    }
    if (small == -1 && PyErr_Occurred() != NULL) {
        return -1;
    }
    buffer_put_number(buffer, small);
    return 0;
}

static bool py_is_float(PyObject *value)
{
    return PyFloat_Check(value);
}

static int py_put_float(struct buffer *buffer, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (!isfinite(number)) {
        buffer_put_text(buffer, "null");
        return 0;
    }
    char *text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text == NULL) {
        return -1;
    }
    buffer_put_text(buffer, text);
    PyMem_Free(text);
    return 0;
}

/* Keys as Python's json module makes them: None is "null", 1 is "1". */
static int py_put_key(struct buffer *buffer, PyObject *key)
{
    if (py_is_constant(key)) {
        buffer_put_char(buffer, '"');
        (void)py_put_constant(buffer, key);
        buffer_put_char(buffer, '"');
        return 0;
    }
    return PyUnicode_Check(key) ? py_json_put_text(buffer, key) : py_put_str_of(buffer, key);
}

static int py_put_member(struct buffer *buffer, PyObject *key, PyObject *value, bool first)
{
    if (!first) {
        buffer_put_char(buffer, ',');
    }
    if (py_put_key(buffer, key) != 0) {
        return -1;
    }
    buffer_put_char(buffer, ':');
    return py_json_put(buffer, value);
}

static bool py_is_dict(PyObject *value)
{
    return PyDict_Check(value);
}

static int py_put_dict(struct buffer *buffer, PyObject *value)
{
    int error = 0;
    bool first = true;
    Py_ssize_t at = 0;
    PyObject *key_b = NULL;
    PyObject *item_b = NULL;
    buffer_put_char(buffer, '{');
    while (error == 0 && PyDict_Next(value, &at, &key_b, &item_b)) {
        PyObject *key = Py_NewRef(key_b);
        PyObject *item = Py_NewRef(item_b);
        error = py_put_member(buffer, key, item, first);
        Py_DECREF(key);
        Py_DECREF(item);
        first = false;
    }
    buffer_put_char(buffer, '}');
    return error;
}

static bool py_is_mapping(PyObject *value)
{
    return PyMapping_Check(value) && PyObject_HasAttrString(value, "keys");
}

static int py_put_mapping(struct buffer *buffer, PyObject *value)
{
    PyObject *dict = PyDict_New();
    int error = dict != NULL ? PyDict_Update(dict, value) : -1;
    if (error == 0) {
        error = py_put_dict(buffer, dict);
    }
    Py_XDECREF(dict);
    return error;
}

static bool py_is_bytes(PyObject *value)
{
    return PyBytes_Check(value) || PyByteArray_Check(value) || PyMemoryView_Check(value);
}

static void base64_put(struct buffer *buffer, const uint8_t *p, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buffer_reserve(buffer, (n + 2) / 3 * 4);
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t bits = (uint32_t)p[i] << 16;
        bits |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)p[i + 2] : 0;
        const char group[4] = {
            digit[bits >> 18],
            digit[bits >> 12 & 63],
            left > 1 ? digit[bits >> 6 & 63] : '=',
            left > 2 ? digit[bits & 63] : '=',
        };
        buffer_put(buffer, group, sizeof group);
    }
}

static int py_put_bytes(struct buffer *buffer, PyObject *value)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    PyObject *bytes = PyBytes_FromObject(value); /* a strided view comes out in order */
    if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &p, &n) != 0) {
        Py_XDECREF(bytes);
        return -1;
    }
    buffer_put_char(buffer, '"');
    base64_put(buffer, (const uint8_t *)p, (size_t)n);
    buffer_put_char(buffer, '"');
    Py_DECREF(bytes);
    return 0;
}

static bool py_is_index(PyObject *value)
{
    return PyIndex_Check(value);
}

static int py_put_index(struct buffer *buffer, PyObject *value)
{
    PyObject *number = PyNumber_Index(value);
    if (number == NULL) {
        PyErr_Clear(); /* an array of one dimension has __index__, too, and means it not */
        return py_put_str_of(buffer, value);
    }
    int error = py_put_int(buffer, number);
    Py_DECREF(number);
    return error;
}

static bool py_is_iterable(PyObject *value)
{
    PyObject *iterator = PyObject_GetIter(value);
    if (iterator == NULL) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(iterator);
    return true;
}

static int py_put_iterable(struct buffer *buffer, PyObject *value)
{
    PyObject *iterator = PyObject_GetIter(value);
    if (iterator == NULL) {
        return -1;
    }
    int error = 0;
    bool first = true;
    PyObject *item = NULL;
    buffer_put_char(buffer, '[');
    while (error == 0 && (item = PyIter_Next(iterator)) != NULL) {
        if (!first) {
            buffer_put_char(buffer, ',');
        }
        first = false;
        error = py_json_put(buffer, item);
        Py_DECREF(item);
    }
    buffer_put_char(buffer, ']');
    Py_DECREF(iterator);
    return error == 0 && PyErr_Occurred() == NULL ? 0 : -1;
}

static bool py_is_sequence(PyObject *value)
{
    return PyList_Check(value) || PyTuple_Check(value);
}

static bool py_is_anything(PyObject *value)
{
    (void)value;
    return true;
}

int py_json_put(struct buffer *buffer, PyObject *value)
{
    static const struct {
        bool (*py_is)(PyObject *value);
        int (*py_put)(struct buffer *buffer, PyObject *value);
    } kinds[] = {
        {py_is_text, py_json_put_text},    {py_is_constant, py_put_constant},
        {py_is_dict, py_put_dict},         {py_is_sequence, py_put_iterable},
        {py_is_int, py_put_int},           {py_is_float, py_put_float},
        {py_is_bytes, py_put_bytes},       {py_is_mapping, py_put_mapping},
        {py_is_iterable, py_put_iterable}, {py_is_index, py_put_index},
        {py_is_anything, py_put_str_of},
    };
    if (Py_EnterRecursiveCall(" while a message was written as JSON") != 0) {
        return -1;
    }
    size_t i = 0;
    while (!kinds[i].py_is(value)) {
        i++;
    }
    int error = kinds[i].py_put(buffer, value);
    Py_LeaveRecursiveCall();
    return error;
}
