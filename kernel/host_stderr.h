#ifndef KERNEL_HOST_STDERR_H
#define KERNEL_HOST_STDERR_H

/*
 * The worker's stderr: read all the time, so that nobody blocks in writing it,
 * and its end kept for whoever asks why the worker died.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "bridge/buffer.h"

enum { HOST_STDERR_KEPT = 64 * 1024 };

struct host_stderr {
    int fd, wake; /* read end of the pipe; eventfd that ends the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* over tail */
    struct buffer tail;
    pthread_mutex_t settling; /* over settled */
    bool settled;
};

/* Takes fd, which is closed here in any case. -> 0, -errno. */
int host_stderr_init(struct host_stderr *self, int fd);
void host_stderr_release(struct host_stderr *self);

/* The worker has ended: reads what is left in the pipe and stops. Any thread, any number of times.
 */
void host_stderr_settle(struct host_stderr *self);

/* Copies the last bytes, at most size. -> how many. Any thread. */
size_t host_stderr_tail(struct host_stderr *self, char *text, size_t size);

#endif
