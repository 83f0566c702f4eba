/* Facts of Jupyter cells: see facts.h. Worker, main thread; owns nothing. */

#include "bridge/facts.h"

#include <stdbool.h>

#include "bridge/audit.h"
#include "bridge/files_read.h"
#include "bridge/guards.h"
#include "bridge/py_json.h"

static bool all_are_told; /* else usage only */

int py_facts_watch(PyObject *figures, PyObject *report, PyObject *library)
{
    const char *directory = PyUnicode_AsUTF8AndSize(library, NULL);
    if (directory == NULL || py_audit_install() != 0 || py_guards_init(figures, report) != 0) {
        return -1;
    }
    (void)files_read_init(directory); /* without a current directory no file is below it */
    all_are_told = true;
    return 0;
}

void py_facts_begin(struct usage_mark *ret_begin)
{
    if (all_are_told && py_guards_begin() != 0) {
        PyErr_Clear();
    }
    usage_begin(all_are_told ? USAGE_PEAK_OF_CELL : USAGE_PEAK_OF_PROCESS, ret_begin);
}

void py_facts_run(PyObject *file)
{
    if (all_are_told) {
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
    if (all_are_told) {
        py_put_member(json, "files_read", py_files_read_end());
        py_put_member(json, "guards", py_guards_end());
    }
    buffer_put_char(json, '}');
}
