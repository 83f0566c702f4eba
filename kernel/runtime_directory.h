#ifndef KERNEL_RUNTIME_DIRECTORY_H
#define KERNEL_RUNTIME_DIRECTORY_H

#include <stddef.h>

/*
 * Jupyter's directory for connection files: $JUPYTER_RUNTIME_DIR, else
 * "runtime" in $JUPYTER_DATA_DIR, else "jupyter/runtime" in $XDG_DATA_HOME,
 * else in ~/.local/share. It may not exist yet.
 * -> 0, -ENOENT: none of them and no HOME, -ENAMETOOLONG.
 */
int runtime_directory(char *ret_path, size_t size);

#endif
