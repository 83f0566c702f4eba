/* Locks that sys shows: see frames_lock.h. Worker, any Python thread; owns nothing. */

#include "bridge/frames_lock.h"

#include "bridge/frames_names.h"
#include "bridge/py_compat.h"

int py_frames_lock_init(struct frames_lock *self, const char *name)
{
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *lock = module != NULL ? PyObject_CallMethod(module, "allocate_lock", NULL) : NULL;
    int error = lock != NULL ? py_sys_set(name, Py_NewRef(lock)) : -1;
    if (error == 0) {
        self->acquire = PyObject_GetAttrString(lock, "acquire");
        self->release = PyObject_GetAttrString(lock, "release");
        error = self->acquire != NULL && self->release != NULL ? 0 : -1;
    }
    Py_XDECREF(module);
    Py_XDECREF(lock);
    return error;
}

int py_frames_lock_take(const struct frames_lock *self)
{
    PyObject *got = PyObject_CallNoArgs(self->acquire);
    Py_XDECREF(got);
    return got != NULL ? 0 : -1;
}

bool py_frames_lock_try(const struct frames_lock *self)
{
    PyObject *got = PyObject_CallFunctionObjArgs(self->acquire, Py_False, NULL);
    bool has = got == Py_True;
    Py_XDECREF(got);
    PyErr_Clear();
    return has;
}

void py_frames_lock_give(const struct frames_lock *self)
{
    PyObject *problem = py_exception_take();
    PyObject *done = PyObject_CallNoArgs(self->release);
    PyErr_Clear();
    Py_XDECREF(done);
    if (problem != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(problem), problem);
        Py_DECREF(problem);
    }
}
