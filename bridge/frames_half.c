/* Loads the Python half of `einkorn frames`. Main thread; owns the hooks. */

#include "bridge/frames_half.h"

#include "bridge/half.h"

static PyObject *hooks[FRAMES_HOOKS];

static const char *const hook_name[FRAMES_HOOKS] = {
    [FRAMES_START] = "start",
    [FRAMES_PARSE] = "parse",
    [FRAMES_HANDSHAKE] = "handshake",
    [FRAMES_BEGIN] = "begin",
    [FRAMES_INSTALL_HOST] = "install_host",
    [FRAMES_BEFORE_CELL] = "before_cell",
    [FRAMES_AFTER_CELL] = "after_cell",
    [FRAMES_DESCRIBE] = "describe",
    [FRAMES_REPORT] = "report",
    [FRAMES_CALL] = "call",
    [FRAMES_FINISH] = "finish",
};

int py_frames_half_load(const char *library)
{
    PyObject *module = py_half_import(library, "einkorn.frames.hooks");
    int error = module != NULL ? 0 : -1;
    for (size_t i = 0; i < FRAMES_HOOKS && error == 0; i++) {
        hooks[i] = PyObject_GetAttrString(module, hook_name[i]);
        error = hooks[i] != NULL ? 0 : -1;
    }
    Py_XDECREF(module);
    return error;
}

PyObject *frames_hook_b(enum frames_hook hook)
{
    return hooks[hook];
}
