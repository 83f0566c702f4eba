#ifndef KERNEL_SIGNALS_H
#define KERNEL_SIGNALS_H

/*
 * Signals to the kernel process, as one more fd in the loop (Linux: signalfd).
 * SIGINT is an interrupt of the running cell, SIGTERM, SIGHUP and SIGQUIT are
 * the end.
 */

struct kernel;

/*
 * Blocks the signals for this thread and all that will be made, whatever was
 * inherited; SIGPIPE is ignored. -> the fd, readable when one came, or -errno.
 */
int signals_open(void);

/*
 * Acts on the signals that have come. Also to be called before a request is
 * started: an interrupt that came before it must not hit it.
 */
void signals_take(struct kernel *kernel);

#endif
