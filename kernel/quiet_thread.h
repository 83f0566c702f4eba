#ifndef KERNEL_QUIET_THREAD_H
#define KERNEL_QUIET_THREAD_H

/* Threads that no signal can reach: those are for the thread that takes them. */

#include <pthread.h>

/* Starts a thread with every signal blocked. -> 0, -errno. */
int quiet_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *arg);

#endif
