#ifndef BRIDGE_ANSWER_H
#define BRIDGE_ANSWER_H

/*
 * Requests that a function of the Python half answers: completion, inspection,
 * completeness, comm messages.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bridge/link.h"
#include "bridge/port.h"

/*
 * Answers a LINK_SHELL request of one of these types.
 * User code that it meets (an attribute's getter, a comm's handler) can be
 * interrupted as a cell can, and speaks in the request's name.
 * -> 1: answered; 0: no such type; -1 with an exception.
 */
int py_answer(const struct port *port, const struct link_request *request);

/*
 * The same for one that came while another request runs. Its code runs in a copy
 * of the cells' context, for the running request is in that one. What it raises is
 * dropped (a comm's handler that fails is shown where it is called), but for an
 * interrupt, which was meant for the running request.
 * -> 1: answered; 0: no such type; -1 with an exception, KeyboardInterrupt among them.
 */
int py_answer_within(const struct port *port, const struct link_request *request);

#endif
