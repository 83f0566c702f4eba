#ifndef BRIDGE_KEPT_FILE_H
#define BRIDGE_KEPT_FILE_H

/*
 * A file of the system's that is used again and again and kept open meanwhile. Cells
 * may close any descriptor and put another file there, so the number is believed only
 * as long as the file behind it is the one that was opened; else the path is opened anew.
 * Opened without Python: no audit hook takes it for a cell's.
 */

#include <sys/types.h>

struct kept_file {
    const char *path;
    int flags; /* of open(2) */
    int fd;    /* -1: not open */
    dev_t device;
    ino_t inode;
};
#define KEPT_FILE_INIT(path, flags)                                                                \
    {                                                                                              \
        path, flags, -1, 0, 0                                                                      \
    }

/* Its descriptor, until a cell runs again. -> fd, -errno. */
int kept_file_fd(struct kept_file *self);

/* Closes it, if it still is its own: in a forked child, say. Async-signal-safe. */
void kept_file_close(struct kept_file *self);

#endif
