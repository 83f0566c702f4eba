/* Facts of Jupyter cells: see facts.h. Worker, main thread; owns the callables. */

#include "bridge/facts.h"

#include "bridge/audit.h"
#include "bridge/files_read.h"
#include "bridge/py_json.h"

static struct {
    PyObject *before; /* NULL: usage only */
    PyObject *after;
} facts;

int py_facts_watch(PyObject *before, PyObject *after, PyObject *library)
{
    const char *directory = PyUnicode_AsUTF8AndSize(library, NULL);
    if (directory == NULL || py_audit_install() != 0) {
        return -1;
    }
    (void)files_read_init(directory); /* without a current directory no file is below it */
    facts.before = Py_NewRef(before);
    facts.after = Py_NewRef(after);
    return 0;
}

void py_facts_begin(struct usage_mark *ret_begin)
{
    if (facts.before != NULL) {
        PyObject *done = PyObject_CallNoArgs(facts.before);
        Py_XDECREF(done);
        PyErr_Clear();
    }
    usage_begin(facts.before != NULL ? USAGE_PEAK_OF_CELL : USAGE_PEAK_OF_PROCESS, ret_begin);
}

void py_facts_run(PyObject *file)
{
    if (facts.before != NULL) {
        py_files_read_begin(file);
    }
}

/* ,"name":value; nothing where it cannot be had. Takes the value. */
static void py_put_member(struct buffer *json, const char *name, PyObject *value)
{
    size_t start = json->n;
    buffer_printf(json, ",\"%s\":", name);
    if (value == NULL || py_json_put(json, value) != 0) {
        json->n = start;
    }
    Py_XDECREF(value);
    PyErr_Clear();
}

void py_facts_put(const struct usage_mark *begin, struct buffer *json)
{
    struct usage used;
    usage_end(begin, &used);
    buffer_put_text(json, "{\"usage\":");
    usage_put(&used, json);
    if (facts.before != NULL) {
        py_put_member(json, "files_read", py_files_read_end());
        py_put_member(json, "guards", PyObject_CallNoArgs(facts.after));
    }
    buffer_put_char(json, '}');
}
