/*
 * Files kept open: see kept_file.h. Opening one of /proc takes longer than all
 * that is then done with it. The descriptor lies where cells do not look, above 255, if
 * the limit allows that. A number that is no more ours is somebody else's and is left
 * alone. Worker, one thread; owns nothing.
 */

#include "bridge/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIGH = 256 };

static bool is_still_there(const struct kept_file *self)
{
    struct stat status;
    return self->fd >= 0 && fstat(self->fd, &status) == 0 && status.st_dev == self->device &&
           status.st_ino == self->inode;
}

void kept_file_close(struct kept_file *self)
{
    if (is_still_there(self)) {
        (void)close(self->fd);
    }
    self->fd = -1;
}

/* -> fd, -errno. */
static int open_high(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, HIGH) : -1;
    if (fd < 0) {
        return -errno;
    }
    if (high < 0) { /* ulimit -n is small */
        return fd;
    }
    (void)close(fd);
    return high;
}

int kept_file_fd(struct kept_file *self)
{
    struct stat status;
    if (is_still_there(self)) {
        return self->fd;
    }
    self->fd = -1;
    int fd = open_high(self->path, self->flags);
    if (fd >= 0 && fstat(fd, &status) == 0) {
        self->fd = fd;
        self->device = status.st_dev;
        self->inode = status.st_ino;
    }
    return fd;
}
