#ifndef BRIDGE_FRAMES_HALF_H
#define BRIDGE_FRAMES_HALF_H

/* The functions of the Python half that `einkorn frames` calls; their docstrings say more. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum frames_hook {
    FRAMES_START,          /* (namespace, mode): once */
    FRAMES_SCAN,           /* a scanner of _json.make_scanner's, no function of ours */
    FRAMES_HANDSHAKE,      /* (request) -> (accepted, frame) */
    FRAMES_BEGIN,          /* (file, code): the source of a cell */
    FRAMES_INSTALL_HOST,   /* (namespace, mode): `host` and `openai4s` */
    FRAMES_RECOVER,        /* (): a cell of the origin RECOVERY follows */
    FRAMES_AFTER_CELL,     /* () -> dict: what the response says beside */
    FRAMES_FIGURES,        /* (module) and */
    FRAMES_REPORT_CHANGES, /* (before, now): see guards.h */
    FRAMES_DESCRIBE,       /* (exception, file) -> (error, error_lineno, error_call) */
    FRAMES_REPORT,         /* (exception) -> (name, text, lines): of a forked child */
    FRAMES_CALL,           /* (call_id, method, args, cell_id or None) -> the text of a host_call */
    FRAMES_FINISH,         /* (): once, after the last request */
    FRAMES_HOOKS
};

/* Imports them from this directory. -> 0, -1 with an exception. */
int py_frames_half_load(const char *library);

/* Borrowed; never NULL after load. */
PyObject *frames_hook_b(enum frames_hook hook);

#endif
