#ifndef BRIDGE_ORPHAN_H
#define BRIDGE_ORPHAN_H

/*
 * What the worker gets when the kernel process dies. A real-time signal,
 * because no library of the user's takes one of those by accident; SIGTERM or
 * SIGHUP could have a handler that does something else. The launcher asks for
 * it first of all, when its default action (the end) is right; the runner gives
 * it a handler that takes the worker's children along.
 */

#include <signal.h>

#define ORPHAN_SIGNAL (SIGRTMAX - 1)

#endif
