#ifndef BRIDGE_GATE_STAND_H
#define BRIDGE_GATE_STAND_H

/*
 * Where the gate stands: its place among the C handlers of SIGINT. Between the parts of
 * the gate; nobody else includes this.
 */

#include <signal.h>
#include <stdbool.h>

/* ---- gate.c -------------------------------------------------------------------- */

/* The handler that is the gate. It alone calls gate_forward. Any thread. */
void gate_on_sigint(int number, siginfo_t *info, void *context);

/* ---- gate_stand.c --------------------------------------------------------------- */

/* To the handler that the gate stands before. Async-signal-safe, any thread. */
void gate_forward(int number, siginfo_t *info, void *context);

/* Puts the gate before the handler that is there. SIG_DFL and SIG_IGN are no handlers. */
void gate_stand(void);

/*
 * The same when a request begins: a cell must be interruptible, so where SIG_DFL is,
 * Python's default handler comes to be. -> 0, -1 with an exception.
 */
int py_gate_stand_for_request(void);

/* Blocks or unblocks SIGINT in this thread: SIG_BLOCK, SIG_UNBLOCK. */
void gate_mask(int how);

/* Does default_int_handler stand behind the gate? It acknowledges; other handlers do not. */
void gate_behind(bool python_acknowledges);

/* What was said last with gate_behind. Async-signal-safe, any thread. */
bool gate_python_acknowledges(void);

#endif
