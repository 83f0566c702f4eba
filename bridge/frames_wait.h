#ifndef BRIDGE_FRAMES_WAIT_H
#define BRIDGE_FRAMES_WAIT_H

/* How the worker of `einkorn frames` waits for its host. */

#include <signal.h>

enum { FRAMES_WATCH_US = 60 }; /* how long the descriptor is watched before the thread sleeps */

/*
 * Until there is something to read, without the GIL. `mask` holds meanwhile, as in ppoll.
 * -> above 0: there is, or the other end is gone; -1 with errno.
 */
int frames_wait(int fd, const sigset_t *mask);

#endif
