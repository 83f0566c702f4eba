/*
 * Requests as Python sees them: see parent.h. The texts were checked by the
 * kernel process. json is imported when the first one is asked for: most cells
 * never look at their own request. Worker, any Python thread; owns nothing.
 */

#include "bridge/parent.h"

#include "bridge/py_compat.h"

static int py_put_parsed(PyObject *dict, const char *name, PyObject *loads, struct slice json)
{
    PyObject *text = py_text_from(json.n > 0 ? json : slice_of("{}"));
    PyObject *value = text != NULL ? PyObject_CallFunctionObjArgs(loads, text, NULL) : NULL;
    int error = value != NULL ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(text);
    Py_XDECREF(value);
    return error;
}

/* ipykernel has the two of the header's fields that are asked for most beside it. */
static int py_copy_field(PyObject *dict, const char *name)
{
    PyObject *header_b = PyDict_GetItemString(dict, "header");
    PyObject *value_b = PyDict_GetItemString(header_b, name);
    return PyDict_SetItemString(dict, name, value_b != NULL ? value_b : Py_None);
}

PyObject *py_parent_new(const struct parent_text *text)
{
    PyObject *json = PyImport_ImportModule("json");
    PyObject *loads = json != NULL ? PyObject_GetAttrString(json, "loads") : NULL;
    PyObject *dict =
        loads != NULL ? Py_BuildValue("{s:{},s:[]}", "parent_header", "buffers") : NULL;
    if (dict != NULL &&
        (py_put_parsed(dict, "header", loads, text->header) != 0 ||
         py_put_parsed(dict, "metadata", loads, text->metadata) != 0 ||
         py_put_parsed(dict, "content", loads, text->content) != 0 ||
         py_copy_field(dict, "msg_id") != 0 || py_copy_field(dict, "msg_type") != 0)) {
        Py_CLEAR(dict);
    }
    Py_XDECREF(json);
    Py_XDECREF(loads);
    return dict;
}
