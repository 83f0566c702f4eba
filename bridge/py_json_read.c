/* Reads JSON: see py_json_read.h. Worker, any thread with the GIL; owns the scanner. */

#include "bridge/py_json_read.h"

#include "bridge/json_text.h"

static PyObject *scan;
static PyObject *start; /* 0 */

void py_json_read_init(PyObject *scanner)
{
    scan = Py_NewRef(scanner);
    start = PyLong_FromLong(0);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct slice stripped(struct slice text)
{
    while (text.n > 0 && is_space(*text.p)) {
        text.p++;
        text.n--;
    }
    while (text.n > 0 && is_space(text.p[text.n - 1])) {
        text.n--;
    }
    return text;
}

/* The one value that the text is. */
static PyObject *py_scan(PyObject *text)
{
    PyObject *value_b = NULL;
    Py_ssize_t end = 0;
    PyObject *found = PyObject_CallFunctionObjArgs(scan, text, start, NULL);
    if (found == NULL || !PyArg_ParseTuple(found, "On", &value_b, &end)) {
        Py_XDECREF(found);
        return NULL;
    }
    PyObject *value = end == PyUnicode_GetLength(text) ? Py_NewRef(value_b) : NULL;
    Py_DECREF(found);
    if (value == NULL) {
        PyErr_SetString(PyExc_ValueError, "more than one JSON value");
    }
    return value;
}

PyObject *py_json_read(PyObject *line)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    if (PyBytes_AsStringAndSize(line, &p, &n) != 0) {
        return NULL;
    }
    PyObject *text = py_text_from(stripped((struct slice){(const uint8_t *)p, (size_t)n}));
    PyObject *value = text != NULL ? py_scan(text) : NULL;
    Py_XDECREF(text);
    return value;
}

PyObject *py_json_text(struct slice raw)
{
    struct buffer text = BUFFER_INIT;
    json_string_decode(raw, &text);
    PyObject *result = py_text_from(buffer_slice(&text));
    buffer_release(&text);
    return result;
}

PyObject *py_json_texts(struct slice object)
{
    PyObject *dict = PyDict_New();
    size_t at = 0;
    struct slice key_text;
    struct slice value_text;
    while (dict != NULL && json_object_next(object, &at, &key_text, &value_text)) {
        if (json_kind_of(value_text) != JSON_STRING) {
            continue;
        }
        PyObject *key = py_json_text(key_text);
        PyObject *value = key != NULL ? py_json_text(value_text) : NULL;
        if (value == NULL || PyDict_SetItem(dict, key, value) != 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}
