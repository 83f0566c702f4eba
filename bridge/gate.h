#ifndef BRIDGE_GATE_H
#define BRIDGE_GATE_H

/*
 * The gate: a C handler for SIGINT that stands in front of CPython's own and
 * lets an interrupt through only where it belongs. An interrupt has the number
 * of the request it is meant for (link_page.interrupt_number); it passes while
 * that request's user code runs, waits while the runner is about to run it, and
 * is dropped otherwise. To Python nothing is different: signal.getsignal(SIGINT)
 * is default_int_handler, and a handler of the user's own is called by CPython
 * behind the gate.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>

#include "bridge/link.h"

/*
 * Stands before CPython's handler from now on and unblocks SIGINT, which the
 * kernel process blocked before it started us. Main thread. -> 0, -1.
 */
int py_gate_open(struct link_page *page, pid_t kernel);

/*
 * The same for a worker that no kernel process speaks for (einkorn frames): one signal,
 * whoever sent it, interrupts the request that runs; a second one while that request
 * unwinds is swallowed. One that finds the main thread between Python's look for signals
 * and a system call is brought again until Python has heard it. -> 0, -1.
 */
int py_gate_open_single(void);

/*
 * Makes Python's default handler the handler of SIGINT again, whatever a cell has put there
 * or blocked. Interrupts wait meanwhile. -> 0, -1 with an exception: not the main thread.
 */
int py_gate_set_again(void);

/* Whether a KeyboardInterrupt of this request came from a signal, not from `raise`. */
bool gate_was_raised(void);

/*
 * A request begins or ends (0). Begin puts the gate back in front if it was displaced; where
 * no kernel process is, that is left to py_gate_set_again.
 */
int py_gate_request(uint64_t number);

/*
 * User code is about to run: interrupts pass, one that waits at once.
 * disarm: no more, and what passed comes out now. -> 0, -1 with the exception
 * that a signal's handler raised (KeyboardInterrupt, or what the user's raises).
 */
void gate_arm(void);
int py_gate_disarm(void);

/*
 * `taker(frame)` is asked before KeyboardInterrupt is raised; if what it returns
 * is true it has seen to the interrupt itself and nothing is raised. None: nobody.
 * For code that an exception at any point would break: a running event loop.
 */
void py_gate_set_taker(PyObject *taker);

/*
 * Between the two no interrupt is raised; one that comes is raised after the last. For short
 * code of ours that must not be left half done. They nest.
 */
void gate_hold(void);
void gate_let_go(void);

/* callable(argument) between the two. -> what it returns, or NULL. */
PyObject *py_gate_hold(PyObject *callable, PyObject *argument);

/* The event loop turns between requests: an interrupt of one that waits passes meanwhile. */
void gate_idle(bool idle);

#endif
