#ifndef BRIDGE_HALF_H
#define BRIDGE_HALF_H

/*
 * The Python half: what is easier to say in Python than in C. The package
 * `einkorn` lies beside the runner; its directory is not put on sys.path. The
 * functions of its module `hooks` are all that C knows of it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum half_hook {
    HOOK_START,     /* (namespace): once, before the first request */
    HOOK_BEGIN,     /* (count, code, store, silent) -> file name of the cell; None: HOOK_RUN */
    HOOK_TAKE_OVER, /* (count, store) -> bool: HOOK_RUN instead of the SyntaxError that is there */
    HOOK_RUN,       /* (count, code, store, silent) -> None or (ename, evalue, traceback) */
    HOOK_ECHO,      /* (value, count, store): the last expression's value */
    HOOK_SILENCED,  /* (code) -> bool: ends the cell with a semicolon? */
    HOOK_DESCRIBE,  /* (exception) -> (ename, evalue, traceback); sets sys.last_* */
    HOOK_EXPRESSIONS, /* (dict) -> dict: user_expressions */
    HOOK_COROUTINE,   /* (coroutine) -> value: a cell's top-level await */
    HOOK_IDLE,        /* (fd): runs the loop, if it has work, until fd is readable */
    HOOK_END,         /* (): after each cell */
    HOOK_FINISH,      /* (): once, after the last request */
    HOOK_COUNT
};

/*
 * Imports the package from this directory and the module of that name in it, and looks its
 * functions up. -> 0, -1 with an exception.
 */
int py_half_find(const char *library, const char *module, const char *const *names, size_t count,
                 PyObject **ret_hooks);

/* Imports it from this directory. -> 0, -1 with an exception. */
int py_half_load(const char *library);

/* Borrowed; never NULL after load. */
PyObject *half_hook_b(enum half_hook hook);

#endif
