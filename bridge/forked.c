/*
 * Forked children: see forked.h. pthread_atfork tells us before any code of the
 * child runs. There the child closes what it inherited of the door: dups of the
 * pipes' read ends would keep a pipe alive without its reader. Crashes of a
 * child are reported on its stderr, since the side pipe is for the worker's own
 * death. Worker and its children; owns the children's unfinished lines.
 */

#include "bridge/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/port.h"
#include "bridge/py_compat.h"

static struct {
    bool child;
    struct link_fds fds;
    struct buffer line[PORT_STREAMS]; /* text after the last newline */
} forked;

/* Only async-signal-safe calls: other threads' locks are held for ever here. */
static void after_fork_in_child(void)
{
    buffer_clear(&forked.line[PORT_STDOUT]);
    buffer_clear(&forked.line[PORT_STDERR]);
    if (forked.child) {
        return;
    }
    forked.child = true;
    const int ours[] = {forked.fds.memory, forked.fds.bell, forked.fds.request, forked.fds.pipe[0],
                        forked.fds.pipe[1]};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        (void)close(ours[i]);
    }
    (void)dup3(STDERR_FILENO, forked.fds.side, O_CLOEXEC);
}

int forked_init(const struct link_fds *fds)
{
    forked.fds = *fds;
    return -pthread_atfork(NULL, NULL, after_fork_in_child);
}

bool forked_is_child(void)
{
    return forked.child;
}

/*
 * More than PIPE_BUF bytes may be torn apart by what other processes write. So children
 * lock the pipe meanwhile, against each other; a lock ends with its process. A file that
 * somebody put there is not ours to lock.
 */
static void pipe_lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
        (void)fcntl(fd, type == F_UNLCK ? F_SETLK : F_SETLKW, &whole);
    }
}

/* Writes the first n bytes of what waits, and forgets them. */
static int py_write_out(int stream, size_t n)
{
    struct buffer out = forked.line[stream]; /* ours while other threads run */
    forked.line[stream] = (struct buffer)BUFFER_INIT;
    buffer_put(&forked.line[stream], out.p + n, out.n - n);
    int fd = stream == PORT_STDERR ? STDERR_FILENO : STDOUT_FILENO;
    int error = 0;
    size_t done = 0;
    PyThreadState *waiting = PyEval_SaveThread();
    pipe_lock(fd, F_WRLCK);
    PyEval_RestoreThread(waiting);
    while (error == 0 && done < n) {
        PyThreadState *state = PyEval_SaveThread();
        ssize_t written = write(fd, out.p + done, n - done);
        int reason = errno;
        PyEval_RestoreThread(state);
        if (written >= 0) {
            done += (size_t)written;
        } else if (reason == EINTR) {
            error = PyErr_CheckSignals();
        } else {
            errno = reason;
            (void)PyErr_SetFromErrno(PyExc_OSError);
            error = -1;
        }
    }
    pipe_lock(fd, F_UNLCK);
    buffer_release(&out);
    return error;
}

int py_forked_put(int stream, struct slice bytes)
{
    struct buffer *line = &forked.line[stream];
    buffer_put_slice(line, bytes);
    const uint8_t *end = line->n > 0 ? memrchr(line->p, '\n', line->n) : NULL;
    return end != NULL ? py_write_out(stream, (size_t)(end - line->p) + 1) : 0;
}

int py_forked_put_text(int stream, PyObject *text)
{
    struct buffer scratch = BUFFER_INIT;
    struct slice utf8;
    int error = py_text_utf8(text, &scratch, &utf8);
    if (error == 0) {
        error = py_forked_put(stream, utf8);
    }
    buffer_release(&scratch);
    return error;
}

int py_forked_flush(int stream)
{
    return forked.line[stream].n > 0 ? py_write_out(stream, forked.line[stream].n) : 0;
}

static void py_put_stderr(PyObject *text)
{
    if (text == NULL || !PyUnicode_Check(text) || py_forked_put_text(PORT_STDERR, text) != 0 ||
        py_forked_put(PORT_STDERR, slice_of("\n")) != 0) {
        PyErr_Clear();
    }
}

static void py_report(PyObject *exception, PyObject *describe)
{
    PyObject *facts = PyObject_CallFunctionObjArgs(describe, exception, NULL);
    PyObject *lines_b = facts != NULL ? PyTuple_GetItem(facts, 2) : NULL;
    Py_ssize_t n = lines_b != NULL && PyList_Check(lines_b) ? PyList_Size(lines_b) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        py_put_stderr(PyList_GetItem(lines_b, i));
    }
    PyErr_Clear();
    Py_XDECREF(facts);
}

/* sys.exit(n): n; sys.exit(): 0; sys.exit("text"): 1 and the text. */
static int py_exit_status(PyObject *exception)
{
    PyObject *code = PyObject_GetAttrString(exception, "code");
    int status = 1;
    if (code == Py_None) {
        status = 0;
    } else if (code != NULL && PyLong_Check(code)) {
        status = (int)PyLong_AsLong(code);
    } else if (code != NULL) {
        PyObject *text = PyObject_Str(code);
        py_put_stderr(text);
        Py_XDECREF(text);
    }
    PyErr_Clear();
    Py_XDECREF(code);
    return status;
}

void py_forked_end(PyObject *exception, PyObject *describe)
{
    int status = 0;
    if (exception != NULL && PyErr_GivenExceptionMatches(exception, PyExc_SystemExit)) {
        status = py_exit_status(exception);
    } else if (exception != NULL) {
        status = 1;
        py_report(exception, describe);
    }
    if (py_forked_flush(PORT_STDOUT) != 0 || py_forked_flush(PORT_STDERR) != 0) {
        PyErr_Clear();
    }
    (void)fflush(NULL);
    _exit(status);
}
