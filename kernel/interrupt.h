#ifndef KERNEL_INTERRUPT_H
#define KERNEL_INTERRUPT_H

struct kernel;

/*
 * Interrupts the request that is with Python; with none there, nothing
 * happens. The signal is repeated until the worker takes it up or the request
 * ends: C code may have swallowed it.
 */
void interrupt_running(struct kernel *kernel);

#endif
