#ifndef KERNEL_PROCESS_GROUP_H
#define KERNEL_PROCESS_GROUP_H

/*
 * Who is in a process group, from /proc (Linux).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sends a signal (0: none, just count) to every living process of the group
 * but `except` (0: nobody). -> how many there were.
 */
size_t process_group_signal(pid_t group, pid_t except, int signal);

/* When the process started, in clock ticks since boot. -> 0, -errno. */
int process_start_time(pid_t pid, uint64_t *ret_ticks);

/* -> true if a SIGINT would end the process: neither caught, ignored, nor blocked. */
bool process_dies_of_sigint(pid_t pid);

#endif
