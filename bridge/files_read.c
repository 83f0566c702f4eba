/*
 * The observer of `open`: see files_read.h. It runs inside of whatever opens a
 * file, so it takes exact built-in types only, asks no user's code, and what
 * fails is left out. Worker, any thread with the GIL; owns the paths of the cell.
 */

#include "bridge/files_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "bridge/read_path.h"
#include "bridge/xalloc.h"

enum { FRAMES_MAX = 128 };

static struct {
    char *root;
    char *library;
    PyObject *file;  /* of the cell; NULL: none runs */
    PyObject *paths; /* a dict, for its keys: each once, in order; NULL: none yet */
} reads;

int files_read_init(const char *library)
{
    reads.root = getcwd(NULL, 0);
    reads.library = xstrdup(library);
    return reads.root != NULL ? 0 : -errno;
}

void py_files_read_begin(PyObject *file)
{
    Py_XDECREF(py_files_read_end());
    reads.file = Py_NewRef(file);
    PyErr_Clear();
}

PyObject *py_files_read_end(void)
{
    PyObject *paths = reads.paths;
    PyObject *file = reads.file;
    reads.paths = NULL;
    reads.file = NULL;
    PyObject *list = paths != NULL ? PyDict_Keys(paths) : PyList_New(0);
    Py_XDECREF(paths);
    Py_XDECREF(file);
    return list;
}

/* (path, mode or None, flags): those of os.open() and C code have no mode. */
static bool py_can_read(PyObject *args)
{
    PyObject *mode_b = PyTuple_Size(args) > 1 ? PyTuple_GetItem(args, 1) : Py_None;
    PyObject *flags_b = PyTuple_Size(args) > 2 ? PyTuple_GetItem(args, 2) : Py_None;
    if (PyUnicode_CheckExact(mode_b)) {
        Py_ssize_t n = PyUnicode_GetLength(mode_b);
        return PyUnicode_FindChar(mode_b, 'r', 0, n, 1) >= 0 ||
               PyUnicode_FindChar(mode_b, '+', 0, n, 1) >= 0;
    }
    return PyLong_CheckExact(flags_b) && (PyLong_AsLong(flags_b) & O_ACCMODE) != O_WRONLY;
}

static bool py_is_of_cell(PyObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *file = PyObject_GetAttrString((PyObject *)code, "co_filename");
    bool same = file != NULL && PyUnicode_Compare(file, reads.file) == 0;
    Py_DECREF(code);
    Py_XDECREF(file);
    return same;
}

/* A frame of the cell is among the nearest FRAMES_MAX of this thread. */
static bool py_cell_is_behind(void)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    bool found = false;
    for (int i = 0; i < FRAMES_MAX && frame != NULL && frame != Py_None && !found; i++) {
        found = py_is_of_cell(frame);
        PyObject *back = PyObject_GetAttrString(frame, "f_back");
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

/* The path's bytes as the system sees them, new. NULL: it is no path. */
static PyObject *py_path_bytes(PyObject *path)
{
    if (PyUnicode_CheckExact(path)) {
        return PyUnicode_EncodeFSDefault(path);
    }
    return PyBytes_Check(path) ? PyBytes_FromObject(path) : NULL;
}

static void py_note(struct slice relative)
{
    PyObject *text =
        PyUnicode_DecodeFSDefaultAndSize((const char *)relative.p, (Py_ssize_t)relative.n);
    if (reads.paths == NULL) {
        reads.paths = PyDict_New();
    }
    if (text != NULL && reads.paths != NULL && PyUnicode_GetLength(text) <= FILES_READ_PATH_MAX &&
        PyDict_Size(reads.paths) < FILES_READ_MAX) {
        (void)PyDict_SetItem(reads.paths, text, Py_None);
    }
    Py_XDECREF(text);
}

static void py_note_if_below(struct slice path)
{
    char cwd[PATH_MAX];
    struct buffer relative = BUFFER_INIT;
    struct buffer own = BUFFER_INIT;
    struct slice root = slice_of(reads.root);
    if (getcwd(cwd, sizeof cwd) == NULL) {
        if (path.n == 0 || path.p[0] != '/') {
            return; /* relative to a directory that is gone */
        }
        cwd[0] = '\0';
    }
    if (read_path_relative(PATH_POSIX, path, root, slice_of(cwd), &relative) &&
        !read_path_relative(PATH_POSIX, path, slice_of(reads.library), slice_of(cwd), &own)) {
        py_note(buffer_slice(&relative));
    }
    buffer_release(&relative);
    buffer_release(&own);
}

void py_files_read_opened(PyObject *args)
{
    if (reads.file == NULL || reads.root == NULL || PyTuple_Size(args) < 1 || !py_can_read(args) ||
        !py_cell_is_behind()) {
        PyErr_Clear();
        return;
    }
    PyObject *bytes = py_path_bytes(PyTuple_GetItem(args, 0));
    char *p = NULL;
    Py_ssize_t n = 0;
    if (bytes != NULL && PyBytes_AsStringAndSize(bytes, &p, &n) == 0 && reads.file != NULL) {
        py_note_if_below((struct slice){(const uint8_t *)p, (size_t)n});
    }
    Py_XDECREF(bytes);
    PyErr_Clear();
}
