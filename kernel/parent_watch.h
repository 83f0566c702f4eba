#ifndef KERNEL_PARENT_WATCH_H
#define KERNEL_PARENT_WATCH_H

/*
 * The process that started the kernel: when it goes, the kernel goes.
 */

/*
 * Opens a pidfd that becomes readable when the process named by JPY_PARENT_PID
 * ends. A number that cannot be right (no such process, one of another
 * namespace, one younger than we are) is ignored with a log line, and our own
 * parent is watched instead. `text` is the variable's value; NULL: a kernel
 * that outlives its starter by intention.
 * -> the fd, or -1: nobody to watch.
 */
int parent_watch_open(const char *text);

#endif
