/*
 * What `_einkorn` offers behind both doors: see api.h. Worker, any Python thread; owns nothing.
 */

#include "bridge/api.h"

#include "bridge/gate.h"
#include "bridge/py_json.h"

static PyObject *py_hold_interrupts(PyObject *self, PyObject *args)
{
    PyObject *callable_b = NULL;
    PyObject *argument_b = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO:hold_interrupts", &callable_b, &argument_b)) {
        return NULL;
    }
    return py_gate_hold(callable_b, argument_b);
}

static PyObject *py_encode(PyObject *self, PyObject *value)
{
    (void)self;
    struct buffer buffer = BUFFER_INIT;
    PyObject *text = py_json_put(&buffer, value) == 0 ? py_text_from(buffer_slice(&buffer)) : NULL;
    buffer_release(&buffer);
    return text;
}

PyMethodDef api_common_methods[] = {
    {"hold_interrupts", py_hold_interrupts, METH_VARARGS,
     "hold_interrupts(callable, argument, /)\n--\n\ncallable(argument); an interrupt that comes "
     "meanwhile is raised after it."},
    {"encode", py_encode, METH_O,
     "encode(value, /)\n--\n\nThe value as JSON text, as publish() writes it."},
    {NULL, NULL, 0, NULL},
};
