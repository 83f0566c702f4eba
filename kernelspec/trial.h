#ifndef KERNELSPEC_TRIAL_H
#define KERNELSPEC_TRIAL_H

/*
 * Tries a Python out: starts a worker as a kernel does, and runs one cell.
 */

#include "bridge/buffer.h"
#include "kernel/paths.h"

/*
 * `libpython` as in a kernelspec: "" is the stock interpreter. ret_output gets
 * what the cell wrote to stdout and stderr; where it did not come to that, why
 * not, as Python or our launcher said it. No process is left.
 * -> 0: the cell ran to its end, -1: why not is in ret_output.
 */
int trial_run(const struct paths *paths, const char *python, const char *libpython,
              const char *code, struct buffer *ret_output);

/* The last line of a text that is not empty, as a new text: the reason in what Python says. */
char *trial_last_line(const struct buffer *text);

#endif
