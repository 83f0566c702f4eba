#ifndef KERNEL_DEATH_FILE_H
#define KERNEL_DEATH_FILE_H

#include <stddef.h>

#include "bridge/slice.h"

enum { DEATH_FILES_KEPT = 20 };

/*
 * Keeps a death report as `<directory>/death-<date>-<pid of the worker>.txt`, for the
 * user alone, and removes the oldest ones beyond DEATH_FILES_KEPT.
 * -> 0, -errno.
 */
int death_file_write(const char *directory, long pid, struct slice text, char *ret_path,
                     size_t size);

#endif
