#ifndef KERNEL_TRIM_H
#define KERNEL_TRIM_H

/*
 * Unmaps the pages of code and constants that this process has touched so far; those that it
 * still needs come back from the page cache at their next use, 64 KiB a fault.
 * To be called once when the start is over: most of what was touched until then
 * is the dynamic loader's way through libraries of libraries (Kerberos, PGM,
 * NORM, systemd) that nothing here ever calls, and 4 MB of an idle kernel.
 * -> bytes of the mappings that were given back.
 */

#include <stddef.h>

size_t trim_files(void);

#endif
