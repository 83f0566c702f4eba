#ifndef KERNELSPEC_INSTALL_H
#define KERNELSPEC_INSTALL_H

/*
 * `einkorn install`: makes Einkorn known to Jupyter for one Python. It asks
 * that Python what it is, then writes <place>/kernels/<name>/kernel.json and
 * the logos. Jupyter's rules for both: "Making kernels for Jupyter", section
 * "Kernel specs" of the jupyter_client documentation.
 */

#include "kernel/options.h"

/*
 * Runs the command; messages go to stdout (what was written) and stderr (why
 * not: one line, and what to do about it). Nothing is written unless
 * everything fits. -> the exit status: 0; 1: it did not work; 2: wrong usage.
 */
int install_run(const struct options *options);

#endif
