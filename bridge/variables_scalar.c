/*
 * Scalars: see variables_scalar.h. What is called on a value is a function of its
 * exact built-in type, which a cell cannot replace. Worker, main thread; owns
 * nothing.
 */

#include "bridge/variables_scalar.h"

#include <math.h>

#include "bridge/py_compat.h"

enum {
    PREVIEW_MAX = 240,      /* characters */
    PREVIEW_BYTES_MAX = 48, /* of a bytes object */
    INTEGER_MAX_BITS = 4096,
    HALF = 32768, /* of a long content: so much of its begin and of its end */
};

static int py_put_none(struct buffer *token, PyObject *value)
{
    (void)value;
    buffer_put_text(token, "none");
    return 0;
}

static int py_put_bool(struct buffer *token, PyObject *value)
{
    buffer_put_text(token, value == Py_True ? "bool:1" : "bool:0");
    return 0;
}

static PyObject *py_same(PyObject *value)
{
    return Py_NewRef(value);
}

/* -> 0, -1. */
static int py_bits(PyObject *value, size_t *ret_bits)
{
    PyObject *bits = PyObject_CallMethod(value, "bit_length", NULL);
    size_t n = bits != NULL ? PyLong_AsSize_t(bits) : 0;
    Py_XDECREF(bits);
    if (PyErr_Occurred() != NULL) {
        return -1;
    }
    *ret_bits = n;
    return 0;
}

/* All of it in decimal; NULL, without an exception, where it is too large for that. */
static PyObject *py_decimal(PyObject *value, size_t bits)
{
    PyObject *text = bits <= INTEGER_MAX_BITS ? PyNumber_ToBase(value, 10) : NULL;
    if (text == NULL && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear(); /* beyond what sys.set_int_max_str_digits() allows */
    }
    return text;
}

/* The last 256 bits, as if of two's complement, in decimal. */
static int py_put_low_bits(struct buffer *token, PyObject *value)
{
    PyObject *mask = PyLong_FromString(
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", NULL, 16);
    PyObject *low = mask != NULL ? PyNumber_And(value, mask) : NULL;
    int error = low != NULL ? py_text_put(token, PyNumber_ToBase(low, 10)) : -1;
    Py_XDECREF(mask);
    Py_XDECREF(low);
    return error;
}

static int py_is_negative(PyObject *value)
{
    PyObject *zero = PyLong_FromLong(0);
    int negative = zero != NULL ? PyObject_RichCompareBool(value, zero, Py_LT) : -1;
    Py_XDECREF(zero);
    return negative;
}

static int py_put_int(struct buffer *token, PyObject *value)
{
    size_t bits = 0;
    if (py_bits(value, &bits) != 0) {
        return -1;
    }
    PyObject *decimal = py_decimal(value, bits);
    if (decimal != NULL) {
        buffer_put_text(token, "int:");
        return py_text_put(token, decimal);
    }
    int negative = PyErr_Occurred() == NULL ? py_is_negative(value) : -1;
    buffer_printf(token, "int-bounded:%zu:", bits);
    if (negative < 0 || py_put_low_bits(token, value) != 0) {
        return -1;
    }
    buffer_put_text(token, negative ? ":negative" : ":positive");
    return 0;
}

static PyObject *py_preview_int(PyObject *value)
{
    size_t bits = 0;
    if (py_bits(value, &bits) != 0) {
        return NULL;
    }
    PyObject *decimal = py_decimal(value, bits);
    if (decimal != NULL) {
        Py_DECREF(decimal);
        return Py_NewRef(value);
    }
    return PyErr_Occurred() == NULL ? PyUnicode_FromFormat("<integer %zu bits>", bits) : NULL;
}

static int py_put_float(struct buffer *token, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (isnan(number)) {
        buffer_put_text(token, "float:nan");
        return 0;
    }
    if (isinf(number)) {
        buffer_put_text(token, number > 0 ? "float:+inf" : "float:-inf");
        return 0;
    }
    buffer_put_text(token, "float:");
    return py_text_put(token, PyObject_CallMethod(value, "hex", NULL));
}

static PyObject *py_preview_float(PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (isnan(number)) {
        return PyUnicode_FromString("NaN");
    }
    return isinf(number) ? PyUnicode_FromString(number > 0 ? "+Infinity" : "-Infinity")
                         : Py_NewRef(value);
}

/* All of it, or begin, end and length. */
static void bytes_put_bounded(struct buffer *token, struct slice bytes)
{
    if (bytes.n <= 2 * (size_t)HALF) {
        buffer_put_slice(token, bytes);
        return;
    }
    buffer_put(token, bytes.p, HALF);
    buffer_put_text(token, "<...>");
    buffer_put(token, bytes.p + bytes.n - HALF, HALF);
    buffer_printf(token, "%zu", bytes.n);
}

/* UTF-8 in which lone surrogates stand as they are; takes the str. -> 0, -1. */
static int py_put_utf8(struct buffer *raw, PyObject *text)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    PyObject *bytes =
        text != NULL ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass") : NULL;
    int error = bytes != NULL ? PyBytes_AsStringAndSize(bytes, &p, &n) : -1;
    if (error == 0) {
        buffer_put(raw, p, (size_t)n);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return error;
}

/* Bounded twice: in characters, so that no large text is encoded, then in bytes. */
static int py_put_text(struct buffer *token, PyObject *value)
{
    struct buffer raw = BUFFER_INIT;
    Py_ssize_t n = PyUnicode_GetLength(value);
    int error;
    if (n <= 2 * (Py_ssize_t)HALF) {
        error = py_put_utf8(&raw, Py_NewRef(value));
    } else {
        error = py_put_utf8(&raw, PyUnicode_Substring(value, 0, HALF));
        buffer_put_text(&raw, "<...>");
        if (error == 0) {
            error = py_put_utf8(&raw, PyUnicode_Substring(value, n - HALF, n));
        }
        buffer_printf(&raw, "%zd", n);
    }
    buffer_put_text(token, "str:");
    bytes_put_bounded(token, buffer_slice(&raw));
    buffer_release(&raw);
    return error;
}

static PyObject *py_preview_text(PyObject *value)
{
    if (PyUnicode_GetLength(value) <= PREVIEW_MAX) {
        return Py_NewRef(value);
    }
    PyObject *begin = PyUnicode_Substring(value, 0, PREVIEW_MAX - 1);
    PyObject *more = PyUnicode_FromString("…");
    PyObject *shown = begin != NULL && more != NULL ? PyUnicode_Concat(begin, more) : NULL;
    Py_XDECREF(begin);
    Py_XDECREF(more);
    return shown;
}

static int py_put_bytes(struct buffer *token, PyObject *value)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    if (PyBytes_AsStringAndSize(value, &p, &n) != 0) {
        return -1;
    }
    buffer_put_text(token, "bytes:");
    bytes_put_bounded(token, (struct slice){(const uint8_t *)p, (size_t)n});
    return 0;
}

static PyObject *py_preview_bytes(PyObject *value)
{
    char *p = NULL;
    Py_ssize_t n = 0;
    if (PyBytes_AsStringAndSize(value, &p, &n) != 0) {
        return NULL;
    }
    struct buffer text = BUFFER_INIT;
    buffer_put_text(&text, "0x");
    for (Py_ssize_t i = 0; i < n && i < PREVIEW_BYTES_MAX; i++) {
        buffer_printf(&text, "%02x", (unsigned)(uint8_t)p[i]);
    }
    buffer_put_text(&text, n > PREVIEW_BYTES_MAX ? "…" : "");
    PyObject *shown = py_text_from(buffer_slice(&text));
    buffer_release(&text);
    return shown;
}

const struct scalar *scalar_of(PyObject *value)
{
    static const struct scalar none = {"scalar", py_put_none, py_same};
    static const struct scalar boolean = {"scalar", py_put_bool, py_same};
    static const struct scalar integer = {"scalar", py_put_int, py_preview_int};
    static const struct scalar number = {"scalar", py_put_float, py_preview_float};
    static const struct scalar text = {"text", py_put_text, py_preview_text};
    static const struct scalar bytes = {"bytes", py_put_bytes, py_preview_bytes};
    if (value == Py_None) {
        return &none;
    }
    if (value == Py_True || value == Py_False) {
        return &boolean;
    }
    return PyLong_CheckExact(value)      ? &integer
           : PyFloat_CheckExact(value)   ? &number
           : PyUnicode_CheckExact(value) ? &text
           : PyBytes_CheckExact(value)   ? &bytes
                                         : NULL;
}
