#ifndef BRIDGE_READ_PATH_H
#define BRIDGE_READ_PATH_H

/*
 * How a path that a cell opened reads from the directory where the worker began.
 * By the letters alone: links are not followed, nothing is asked of the system.
 */

#include "bridge/buffer.h"

enum path_rules {
    PATH_POSIX,
    PATH_WINDOWS, /* drives, both slashes, case of A to Z means nothing */
};

/*
 * Appends `path`, relative to `root` and with `/` between its names. A relative path
 * begins at `cwd`; `root` and `cwd` are absolute. -> true; false, with nothing appended:
 * it is not below `root` (or is `root`), or is empty, or has a NUL.
 */
bool read_path_relative(enum path_rules rules, struct slice path, struct slice root,
                        struct slice cwd, struct buffer *relative);

#endif
