/*
 * One way of the channel: see frames_way.h. No number is trusted for longer than a system
 * call, and nothing is ever read or written through the file objects in `sys`: those are
 * for others. Worker; each way by one thread at a time.
 */

#include "bridge/frames_way.h"

#include <errno.h>
#include <sys/stat.h>

#include "bridge/frames_standard.h"

/* ---- the descriptor -------------------------------------------------------------- */

int way_init(struct way *self, int fd, bool with_reserve)
{
    struct stat status;
    self->fd = standard_duplicate(fd);
    if (self->fd < 0 || fstat(self->fd, &status) != 0) {
        return self->fd < 0 ? self->fd : -errno;
    }
    self->device = status.st_dev;
    self->inode = status.st_ino;
    self->reserve = with_reserve ? standard_duplicate(fd) : -1;
    return with_reserve && self->reserve < 0 ? self->reserve : 0;
}

bool way_is(const struct way *self, int fd)
{
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == self->device &&
           status.st_ino == self->inode;
}

bool way_mend(struct way *self)
{
    if (way_is(self, self->fd)) {
        return true;
    }
    int reserve = self->reserve;
    self->reserve = -1;
    self->published = false;
    if (!way_is(self, reserve)) {
        self->fd = -1;
        return false;
    }
    self->fd = reserve;
    return true;
}

/* ---- what sys shows ---------------------------------------------------------------- */

/* Whatever is there may close a descriptor that is somebody else's by now: it stays alive. */
static int py_park(const char *name)
{
    PyObject *parked_b = PySys_GetObject("_openai4s_parked_wrappers");
    PyObject *before_b = PySys_GetObject(name);
    if (before_b == NULL || before_b == Py_None) {
        return 0;
    }
    if (parked_b == NULL || !PyList_Check(parked_b)) {
        if (py_sys_set("_openai4s_parked_wrappers", PyList_New(0)) != 0) {
            return -1;
        }
        parked_b = PySys_GetObject("_openai4s_parked_wrappers");
    }
    return PyList_Append(parked_b, before_b);
}

int py_way_publish(struct way *self)
{
    if (py_park(self->object) != 0 ||
        py_sys_set(self->object, PyFile_FromFd(self->fd, NULL, self->mode, 1, "utf-8", NULL, "\n",
                                               /* closefd= */ 0)) != 0) {
        return -1;
    }
    self->published = true;
    return self->reserve_name != NULL && self->reserve < 0
               ? py_sys_set(self->reserve_name, Py_NewRef(Py_None))
               : 0;
}

int py_way_published(const struct way *self)
{
    PyObject *object = Py_XNewRef(py_sys_b(self->key));
    int fd = object != NULL && object != Py_None ? PyObject_AsFileDescriptor(object) : -1;
    Py_XDECREF(object);
    PyErr_Clear(); /* closed, or no file at all */
    return fd;
}

int py_way_lost(const struct way *self)
{
    PyErr_Format(PyExc_RuntimeError, "protocol %s corrupted and no reserve fd to recover",
                 self->name);
    return -1;
}

int py_way_resolve(struct way *self)
{
    int fd = py_way_published(self);
    if (way_is(self, fd)) {
        self->fd = fd;
        return 0;
    }
    if (!way_mend(self)) {
        return py_way_lost(self);
    }
    if (py_way_publish(self) != 0) {
        PyErr_Clear(); /* for lack of memory: the next look tries again */
    }
    return 0;
}
