#ifndef KERNEL_PROCESS_GROUP_H
#define KERNEL_PROCESS_GROUP_H

/*
 * Who is in a process group, from /proc (Linux).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Calls visit for every living process of the group but its leader. -> how many there were. */
size_t process_group_each(pid_t group, void (*visit)(pid_t pid, void *arg), void *arg);

/* The process's parent. -> its pid, or 0: none that is seen here, or no such process. */
pid_t process_parent(pid_t pid);

/* When the process started, in clock ticks since boot. -> 0, -errno. */
int process_start_time(pid_t pid, uint64_t *ret_ticks);

/* -> true if a SIGINT would end the process: neither caught, ignored, nor blocked. */
bool process_dies_of_sigint(pid_t pid);

/* -> true if the process has a handler for that signal. */
bool process_catches(pid_t pid, int signal);

#endif
