#ifndef KERNELSPEC_INSTALL_H
#define KERNELSPEC_INSTALL_H

/*
 * `einkorn install` makes Einkorn known to Jupyter for one Python, and `einkorn
 * uninstall` takes that back. Messages go to stdout (what was done) and stderr
 * (why not: one line, and what to do about it).
 */

#include "kernel/options.h"

/*
 * Asks the Python what it is, tries a cell in it, then writes the kernelspec.
 * Nothing is written unless everything fits. -> the exit status: 0, or 1.
 */
int install_run(const struct options *options);

/* Removes a kernelspec that is ours, never another. -> the exit status: 0, or 1. */
int uninstall_run(const struct options *options);

#endif
