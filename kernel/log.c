/*
 * The kernel's log: one line, one write.
 *
 * Runs in the kernel process, on any thread. A line is formatted in a
 * buffer of PIPE_BUF bytes on the stack: a pipe that poll calls writable takes
 * that much at once, so a reader that sleeps can cost lines, never time, and
 * lines of several processes do not mix. Owns the two settings below and
 * nothing else; it has no other state, so it works from the first line of main.
 */

#include "kernel/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int log_fd = STDERR_FILENO;
static enum log_level log_limit = LEVEL_INFO;

void log_init(int fd, enum log_level level)
{
    log_fd = fd;
    log_limit = level;
}

static void write_line(const char *line, size_t n)
{
    struct pollfd target = {.fd = log_fd, .events = POLLOUT};
    if (poll(&target, 1, 0) == 1 && target.revents == POLLOUT) {
        /* A short write would be a torn line; the rest of it is lost like a whole one. */
        ssize_t ignored = write(log_fd, line, n);
        (void)ignored;
    }
}

__attribute__((format(printf, 2, 0))) static void log_line(enum log_level level, const char *format,
                                                           va_list arguments)
{
    static const char prefix[] = "einkorn: ", cut[] = "...";
    if (level > log_limit) {
        return;
    }
    int kept_errno = errno;
    char line[PIPE_BUF];
    size_t n = sizeof prefix - 1;
    size_t room = sizeof line - n - 1; /* the newline */
    memcpy(line, prefix, n);

    /* "%m" says what errno was when the caller called. */
    errno = kept_errno;
    int written = vsnprintf(line + n, room, format, arguments);
    if (written >= 0) {
        size_t text = (size_t)written < room ? (size_t)written : room - 1;
        if (text < (size_t)written) {
            memcpy(line + n + text - (sizeof cut - 1), cut, sizeof cut - 1);
        }
        for (size_t i = n; i < n + text; i++) {
            if ((unsigned char)line[i] < ' ' || line[i] == 0x7F) {
                line[i] = ' ';
            }
        }
        line[n + text] = '\n';
        write_line(line, n + text + 1);
    }
    errno = kept_errno;
}

void log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(LEVEL_ERROR, format, arguments);
    va_end(arguments);
}

void log_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(LEVEL_WARNING, format, arguments);
    va_end(arguments);
}

void log_info(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(LEVEL_INFO, format, arguments);
    va_end(arguments);
}

void log_debug(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(LEVEL_DEBUG, format, arguments);
    va_end(arguments);
}
