/* Loads the Python half of `einkorn frames`. Main thread; owns the hooks. */

#include "bridge/frames_half.h"

#include "bridge/half.h"

static PyObject *hooks[FRAMES_HOOKS];

static const char *const hook_name[FRAMES_HOOKS] = {
    [FRAMES_START] = "start",
    [FRAMES_SCAN] = "scan",
    [FRAMES_HANDSHAKE] = "handshake",
    [FRAMES_BEGIN] = "begin",
    [FRAMES_INSTALL_HOST] = "install_host",
    [FRAMES_RECOVER] = "recover",
    [FRAMES_AFTER_CELL] = "after_cell",
    [FRAMES_FIGURES] = "figures",
    [FRAMES_REPORT_CHANGES] = "report_changes",
    [FRAMES_DESCRIBE] = "describe",
    [FRAMES_REPORT] = "report",
    [FRAMES_CALL] = "call",
    [FRAMES_FINISH] = "finish",
};

int py_frames_half_load(const char *library)
{
    return py_half_find(library, "einkorn.frames.hooks", hook_name, FRAMES_HOOKS, hooks);
}

PyObject *frames_hook_b(enum frames_hook hook)
{
    return hooks[hook];
}
