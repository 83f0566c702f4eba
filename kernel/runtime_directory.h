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

/*
 * Makes a directory and those above it; what is made is for the user alone. The
 * path is written to meanwhile. -> 0, -errno.
 */
int runtime_directory_make(char *path);

/*
 * "einkorn" in the runtime directory, for death reports and the markers of
 * running cells; made if it is not there. A directory of its own, since Jupyter
 * takes any file beside the connection files whose name has a kernel's id in it
 * for a connection file. -> 0, -errno.
 */
int runtime_directory_own(char *ret_path, size_t size);

#endif
