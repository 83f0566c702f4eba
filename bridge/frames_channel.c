/*
 * The channel: see frames_channel.h. Lines are cut out of a buffer of our own, which
 * survives whatever cells do to the descriptors (frames_way.h). Reading is poll and read,
 * and between them the file is compared with the one that we began with, so that bytes of
 * another one are not taken for a request.
 *
 * A forked child gets /dev/null in the place of all of it. Worker; reading and
 * writing by one thread each. Owns both ways and the buffer.
 */

#include "bridge/frames_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/frames_standard.h"
#include "bridge/frames_watch.h"
#include "bridge/frames_way.h"

enum { READ_SIZE = 1 << 16 }; /* of one read */

static struct {
    struct way in;
    struct way out;
    struct buffer buffer;
    size_t taken; /* bytes at its front that were handed out */
    size_t seen;  /* bytes behind them without a newline */
    bool lost;
} channel = {
    .in = {"IN", "_openai4s_protocol_stdin", NAME_PROTOCOL_STDIN, "r", "_openai4s_proto_in_reserve",
           -1, -1, false, 0, 0},
    .out = {"OUT", "_openai4s_protocol_stdout", NAME_PROTOCOL_STDOUT, "w", NULL, -1, -1, false, 0,
            0},
};

/* ---- opening ------------------------------------------------------------------------ */

/* Only async-signal-safe calls. The numbers stay taken: a child's file must not get them. */
static void after_fork_in_child(void)
{
    const int ours[] = {channel.in.fd, channel.in.reserve, channel.out.fd, channel.out.reserve};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (ours[i] >= 0 && ours[i] != nothing) {
            (void)(nothing >= 0 ? dup3(nothing, ours[i], O_CLOEXEC) : close(ours[i]));
        }
    }
    (void)close(nothing);
    channel.taken = channel.buffer.n;
    channel.seen = 0;
}

static int py_publish_all(int reserve)
{
    const struct way *in = &channel.in;
    if (py_sys_set("_openai4s_parked_wrappers", PyList_New(0)) != 0 ||
        py_way_publish(&channel.in) != 0 || py_way_publish(&channel.out) != 0 ||
        py_sys_set(in->reserve_name, PyLong_FromLong(reserve)) != 0) {
        return -1;
    }
    return py_sys_set(
        "_openai4s_protocol_ident",
        Py_BuildValue("(KK)", (unsigned long long)in->device, (unsigned long long)in->inode));
}

static int py_open(int in, int out, bool with_reserve)
{
    int error = way_init(&channel.in, in, with_reserve);
    if (error == 0) {
        error = way_init(&channel.out, out, with_reserve);
    }
    if (error == 0) {
        error = standard_leave_to_cells();
    }
    if (error == 0) {
        error = -pthread_atfork(NULL, NULL, after_fork_in_child);
    }
    if (error != 0) {
        errno = -error;
        (void)PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return py_publish_all(channel.in.reserve);
}

int py_channel_open(void)
{
    return py_open(STDIN_FILENO, STDOUT_FILENO, true);
}

int py_channel_open_socket(int fd)
{
    int error = py_open(fd, fd, false);
    (void)close(fd);
    return error;
}

/* ---- reading ------------------------------------------------------------------------- */

/* Cuts the next line out of the buffer. NULL, no memory: it stays. -> false: there is none yet. */
static bool py_cut_line(PyObject **ret_line)
{
    struct buffer *buffer = &channel.buffer;
    size_t n = buffer->n - channel.taken;
    if (n == channel.seen) {
        return false;
    }
    const uint8_t *start = buffer->p + channel.taken;
    const uint8_t *end = memchr(start + channel.seen, '\n', n - channel.seen);
    if (end == NULL) {
        channel.seen = n;
        return false;
    }
    *ret_line = PyBytes_FromStringAndSize((const char *)start, end - start);
    if (*ret_line == NULL) {
        return true;
    }
    channel.taken += (size_t)(end - start) + 1;
    channel.seen = 0;
    if (channel.taken == buffer->n) {
        channel.taken = 0;
        if (buffer->size > (size_t)READ_SIZE * 16) {
            buffer_release(buffer); /* a large line came by; most are small */
        }
        buffer_clear(buffer);
    }
    return true;
}

/* The end of the input ends the last line, too. */
static PyObject *py_cut_rest(void)
{
    size_t n = channel.buffer.n - channel.taken;
    PyObject *rest = n > 0 ? PyBytes_FromStringAndSize(
                                 (const char *)channel.buffer.p + channel.taken, (Py_ssize_t)n)
                           : NULL;
    buffer_release(&channel.buffer);
    channel.taken = channel.seen = 0;
    return rest;
}

/* What `fd` has to say, if it still is the way in. -> bytes, 0: the end, -EAGAIN, -errno. */
static ssize_t read_way_in(int fd, void *room, size_t size)
{
    if (!way_is(&channel.in, fd)) {
        return -EAGAIN;
    }
    ssize_t n = read(fd, room, size);
    return n >= 0 ? n : errno == EINTR || errno == EBADF ? -EAGAIN : -errno;
}

/*
 * Nothing is blocked here: of a signal that the main thread blocks when it comes another
 * thread is told, and hands a SIGINT on, too late it may be, when the next cell runs.
 * -> as read_way_in; -EAGAIN: look again, -EINTR: a handler raised.
 */
static ssize_t py_watch_and_read(int fd, void *room, size_t size)
{
    if (PyErr_CheckSignals() != 0) {
        return -EINTR;
    }
    PyThreadState *state = PyEval_SaveThread();
    ssize_t n = frames_watch(fd) ? read_way_in(fd, room, size) : -EAGAIN;
    PyEval_RestoreThread(state);
    return n;
}

/*
 * A signal that comes between Python's look for signals and the sleep must end the sleep: they
 * are blocked from before the one until within the other, where another thread could take one
 * as said, but that is short. Not SIGINT: where no cell runs it means nothing, and where one does
 * the gate brings it again.
 */
static ssize_t py_sleep_and_read(int fd, void *room, size_t size)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    sigset_t most;
    sigset_t before;
    (void)sigfillset(&most);
    (void)sigdelset(&most, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &most, &before);
    if (PyErr_CheckSignals() != 0) {
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -EINTR;
    }
    PyThreadState *state = PyEval_SaveThread();
    bool has_come = ppoll(&ready, 1, NULL, &before) > 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    ssize_t n = has_come ? read_way_in(fd, room, size) : -EAGAIN;
    PyEval_RestoreThread(state);
    return n;
}

/* More bytes into the buffer. -> as py_watch_and_read. */
static ssize_t py_read_more(int fd, bool sleeps)
{
    struct buffer *buffer = &channel.buffer;
    if (channel.taken > 0) {
        buffer_drop_front(buffer, channel.taken);
        channel.taken = 0;
    }
    buffer_reserve(buffer, READ_SIZE);
    ssize_t n = (sleeps ? py_sleep_and_read : py_watch_and_read)(fd, buffer->p + buffer->n,
                                                                 buffer->size - buffer->n);
    if (n > 0) {
        buffer->n += (size_t)n;
    }
    return n == 0 && !way_is(&channel.in, fd) ? -EAGAIN : n;
}

int py_channel_read_line(PyObject **ret_line)
{
    PyObject *line = NULL;
    bool sleeps = false;
    while (!py_cut_line(&line)) {
        if (py_way_resolve(&channel.in) != 0) {
            channel.lost = true;
            return -1;
        }
        ssize_t n = py_read_more(channel.in.fd, sleeps);
        sleeps = n == -EAGAIN; /* watched in vain */
        if (n == -EINTR) {
            return -1;
        }
        if (n == -ECONNRESET) {
            n = 0; /* a socket's way to say that the host is gone */
        }
        if (n == 0) {
            *ret_line = py_cut_rest();
            return PyErr_Occurred() == NULL ? 0 : -1;
        }
        if (n < 0 && n != -EAGAIN) {
            channel.lost = true;
            errno = (int)-n;
            (void)PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
    }
    *ret_line = line;
    return line != NULL ? 0 : -1;
}

bool channel_is_lost(void)
{
    return channel.lost;
}

/* ---- writing -------------------------------------------------------------------------- */

/*
 * Mending is for channel_write, whose caller lets one thread in at a time. It compares the
 * file, too: here only another number than the last one is compared.
 */
void py_channel_look(void)
{
    int fd = py_way_published(&channel.out);
    if (fd == channel.out.fd && fd >= 0) {
        return;
    }
    if (way_is(&channel.out, fd)) {
        channel.out.fd = fd;
    } else {
        channel.out.published = false;
    }
}

int channel_write(const void *p, size_t n)
{
    const uint8_t *next = p;
    while (n > 0) {
        if (!way_mend(&channel.out)) {
            return -EBADF;
        }
        ssize_t written = write(channel.out.fd, next, n);
        if (written >= 0) {
            next += written;
            n -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd room = {.fd = channel.out.fd, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (errno != EINTR && errno != EBADF) {
            return -errno;
        }
    }
    return 0;
}

int py_channel_written(int error)
{
    if (error == -EBADF) {
        return py_way_lost(&channel.out);
    }
    if (error != 0) {
        errno = -error;
        (void)PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    if (!channel.out.published && py_way_publish(&channel.out) != 0) {
        PyErr_Clear(); /* as above */
    }
    return 0;
}
