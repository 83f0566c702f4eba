#ifndef KERNEL_PROCESS_FACTS_H
#define KERNEL_PROCESS_FACTS_H

/*
 * What a process is doing, as far as /proc tells (Linux, proc(5)). A sandbox
 * may hide any of it: what cannot be read stays at its "unknown".
 */

#include <stdint.h>
#include <sys/types.h>

struct process_facts {
    char state;            /* of the main thread: 'R', 'S', 'D', 'T', …; 0: unknown */
    int64_t cpu_ms;        /* CPU time of the whole process so far; -1: unknown */
    char wait_channel[64]; /* where in the system the main thread sleeps; "": unknown, or awake */
    const char *call;      /* the system call it sleeps in, as a word; NULL: unknown. Static */
    char file[128];        /* the file that call is about; "": none, or unknown */
    pid_t child;           /* the child process it waits for; 0: none, or unknown */
    char child_name[32];   /* the program that child runs; "": unknown */
};

/* `proc` is "/proc", or what a test puts in its place. */
void process_facts_read(const char *proc, pid_t pid, struct process_facts *ret_facts);

#endif
