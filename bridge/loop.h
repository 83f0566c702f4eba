#ifndef BRIDGE_LOOP_H
#define BRIDGE_LOOP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/*
 * Serves requests until the kernel closes the door, each by the handler that a
 * table names for its type. Main thread, after everything else is in place.
 * -> 0: the end, -1 with an exception: the worker can not go on.
 */
int py_loop_run(void);

/*
 * Handles comm messages while another request runs (Messaging spec, "Custom messages"),
 * each with its busy and idle: those that the kernel had sent when this was
 * called, waiting for the last byte of them, or (`only_one`) the next of what is there
 * already. Main thread. A handler may call it again, down to LOOP_WITHIN_MAX;
 * deeper there is nothing to handle.
 * -> 0: no more will come, 1: more may come; -1 with an exception.
 */
enum { LOOP_WITHIN_MAX = 16 };
int py_loop_comms(bool only_one, size_t *ret_handled);

#endif
