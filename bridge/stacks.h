#ifndef BRIDGE_STACKS_H
#define BRIDGE_STACKS_H

/*
 * What the kernel process sends to learn where a worker that does not react
 * is: faulthandler's C handler writes the Python stack of every thread into the
 * side pipe, whoever holds the GIL. A real-time signal, because no library of
 * the user's takes one of those by accident. Sent only while the worker has the
 * handler: the default action is the end.
 */

#include <signal.h>

#define STACKS_SIGNAL (SIGRTMAX - 2)

#endif
