#ifndef KERNEL_WORKER_SETTINGS_H
#define KERNEL_WORKER_SETTINGS_H

/*
 * What the command line says to the Python half of the worker, as one text: see
 * `settings` in bridge/runner.h and bridge/python/einkorn/settings.py.
 */

#include "kernel/options.h"

/*
 * Lines "name=value": shell, ipykernel ("yes" or "no"); where there is one,
 * connection_file, history (the file's path), ipython_dir, profile, profile_dir; and
 * each unknown --Trait.name=value as `trait`. A value that holds a newline is left
 * out. -> the text, to be freed.
 */
char *worker_settings(const struct options *options);

#endif
