#ifndef BRIDGE_FRAMES_WATCH_H
#define BRIDGE_FRAMES_WATCH_H

/* How the worker of `einkorn frames` hears a host that answers at once. */

#include <stdbool.h>

enum { FRAMES_WATCH_US = 60 }; /* how long the descriptor is watched before the thread sleeps */

/*
 * Watches it, without the GIL. -> true: there is something to read, or the other end is gone;
 * false: not within FRAMES_WATCH_US, or a signal came.
 */
bool frames_watch(int fd);

#endif
