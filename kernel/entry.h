#ifndef KERNEL_ENTRY_H
#define KERNEL_ENTRY_H

/*
 * How the program (main.c) comes into einkorn-kernel.so, which holds all that
 * needs more than libc. The two are built together and know the same structs.
 */

struct options;
struct start;

/*
 * Does what the options say: a kernel, `install`, `uninstall`, `doctor`. `start`
 * is for a kernel, which takes what is in it.
 * -> the process's exit status, or the negative signal that it is to end with.
 */
typedef int entry_fn(const struct options *options, struct start *start);

#define ENTRY_NAME "einkorn_entry"
entry_fn einkorn_entry;

#endif
