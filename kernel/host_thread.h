#ifndef KERNEL_HOST_THREAD_H
#define KERNEL_HOST_THREAD_H

/* A deadline kept by a thread of the library's own. */

#include <pthread.h>
#include <stdbool.h>

/*
 * Calls `fire` (arg) on a thread of its own after that many milliseconds,
 * unless it is stopped before.
 */
struct host_deadline {
    pthread_mutex_t lock; /* over stopped and fired */
    pthread_cond_t changed;
    pthread_t thread;
    bool stopped, fired;
    unsigned ms; /* 0: there is no deadline, and no thread */
    void (*fire)(void *arg);
    void *arg;
};

/* ms 0: never fires. -> 0, -errno: there is no thread, and nothing to stop. */
int host_deadline_start(struct host_deadline *self, unsigned ms, void (*fire)(void *arg),
                        void *arg);

/* Waits for `fire` to return if it has begun. -> true: it fired. */
bool host_deadline_stop(struct host_deadline *self);

#endif
