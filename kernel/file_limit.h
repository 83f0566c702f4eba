#ifndef KERNEL_FILE_LIMIT_H
#define KERNEL_FILE_LIMIT_H

/*
 * How many files this process may have open: as many as the system lets us, of
 * which the last few are never a client's. One per process: the program's, which
 * is what "default" brings about also for calls from einkorn-kernel.so.
 */

#include <sys/types.h>

#pragma GCC visibility push(default)

enum {
    FILE_LIMIT_LEAST = 64,   /* with fewer a kernel could not serve two clients */
    FILE_LIMIT_RESERVE = 16, /* not for connections: /proc, payloads, children's pipes */
};

/*
 * Raises the soft limit to the hard one. From then on connections that would
 * use up the reserve are closed at once (see file_limit.c), which is logged
 * the first time. Call it before there is a thread.
 * -> 0; -EMFILE: even the hard limit is below FILE_LIMIT_LEAST.
 */
int file_limit_raise(void);

/* The limit in force. */
unsigned long file_limit(void);

/* Gives a child the soft limit that we were started with: a cell's select() may stand on it. */
void file_limit_restore(pid_t child);

#pragma GCC visibility pop

#endif
