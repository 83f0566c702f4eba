#ifndef KERNELSPEC_DOCTOR_H
#define KERNELSPEC_DOCTOR_H

/*
 * `einkorn doctor`: tells what is there, whether a kernel runs, and what to do
 * if not. All of it goes to stdout. Writes no file.
 * -> the exit status: 0: a kernel runs, 1: it does not.
 */

#include "kernel/options.h"

int doctor_run(const struct options *options);

#endif
