/*
 * The standard descriptors: see frames_standard.h. Worker, main thread; owns a
 * second descriptor of fd 2, for a cell that closes it.
 */

#include "bridge/frames_standard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

enum { HIGH = 256 }; /* closerange(3, 256) is what careful programs do before exec */

static int error_fd = -1;

int standard_duplicate(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    if (copy < 0) { /* ulimit -n is small */
        copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    return copy >= 0 ? copy : -errno;
}

static int put_nothing_on(int fd)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int error = nothing >= 0 ? 0 : -errno;
    if (nothing >= 0 && nothing != fd) {
        error = dup2(nothing, fd) == fd ? 0 : -errno;
        (void)close(nothing);
    } else if (nothing >= 0) {
        error = fcntl(fd, F_SETFD, 0) == 0 ? 0 : -errno;
    }
    return error;
}

int standard_leave_to_cells(void)
{
    error_fd = standard_duplicate(STDERR_FILENO);
    int error = put_nothing_on(STDIN_FILENO);
    return error == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -errno : error;
}

static bool is_closed(const struct pollfd *file)
{
    return (file->revents & POLLNVAL) != 0;
}

void standard_mend(void)
{
    struct pollfd files[] = {{STDIN_FILENO, 0, 0}, {STDOUT_FILENO, 0, 0}, {STDERR_FILENO, 0, 0}};
    if (poll(files, sizeof files / sizeof *files, 0) <= 0) {
        return; /* all are open, and none has broken */
    }
    if (is_closed(&files[STDIN_FILENO])) {
        (void)put_nothing_on(STDIN_FILENO);
    }
    if (is_closed(&files[STDERR_FILENO]) && dup2(error_fd, STDERR_FILENO) < 0) {
        (void)put_nothing_on(STDERR_FILENO);
    }
    if (is_closed(&files[STDOUT_FILENO])) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    }
}
