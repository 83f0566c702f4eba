#ifndef BRIDGE_GATE_PYTHON_H
#define BRIDGE_GATE_PYTHON_H

/*
 * Between the halves of the gate: gate.c decides about signals, gate_python.c is
 * what Python calls (and gate_stand.h, where the gate stands). Nobody else includes
 * this. Main thread.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* ---- gate_python.c ------------------------------------------------------------ */

/*
 * Puts our functions in the place of CPython's, and our default handler in the
 * place of its own; one that `site` customisation set stays. -> 0, -1.
 */
int py_gate_python_open(void);

/* Makes default_int_handler the handler again. -> 0, -1. */
int py_gate_set_default(void);

/* A request begins or ends. */
void gate_python_request(void);

/* ---- gate.c -------------------------------------------------------------------- */

/* Python's handler has heard the interrupt that passed last. */
void gate_acknowledge(void);

/* KeyboardInterrupt is being raised. */
void gate_note_raised(void);

/* Brings an interrupt again that passed and has ended nothing. */
void gate_repeat(void);

/* Does user code of a request run, in the process that serves it? */
bool gate_is_armed(void);

#endif
