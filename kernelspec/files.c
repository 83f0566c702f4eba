/*
 * Files of a kernelspec. Kernel process, only in the commands that install and
 * take back. A file is written beside its place and renamed into it, so nobody
 * ever sees half of one. Owns nothing.
 */

#include "kernelspec/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/xalloc.h"

char *text_format(const char *text, ...)
{
    char *result;
    va_list arguments;
    va_start(arguments, text);
    int n = vasprintf(&result, text, arguments);
    va_end(arguments);
    return n < 0 ? xstrdup("") : result;
}

int files_make_directories(const char *path)
{
    char *part = xstrdup(path);
    int r = 0;
    for (char *end = part + 1; r == 0; end++) {
        if (*end != '/' && *end != '\0') {
            continue;
        }
        char kept = *end;
        *end = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST) {
            r = -errno;
        }
        *end = kept;
        if (kept == '\0') {
            break;
        }
    }
    free(part);
    return r;
}

static int write_all(int fd, struct slice bytes)
{
    for (size_t done = 0; done < bytes.n;) {
        ssize_t n = write(fd, bytes.p + done, bytes.n - done);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int files_put(const char *directory, const char *name, struct slice bytes)
{
    char *path = text_format("%s/%s", directory, name);
    char *draft = text_format("%s/.%s.%ld", directory, name, (long)getpid());
    int r;
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        r = -errno;
    } else {
        r = write_all(fd, bytes);
        if (close(fd) < 0 && r == 0) {
            r = -errno;
        }
        if (r == 0 && rename(draft, path) < 0) {
            r = -errno;
        }
        if (r < 0) {
            (void)unlink(draft);
        }
    }
    free(draft);
    free(path);
    return r;
}

/* Appends a file's bytes. -> 0, -errno. */
static int read_file(const char *path, struct buffer *buffer)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = 0;
    for (;;) {
        char bytes[8192];
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            r = -errno;
            break;
        }
        buffer_put(buffer, bytes, n > 0 ? (size_t)n : 0);
    }
    (void)close(fd);
    return r;
}

int files_copy(const char *from, const char *to, const char *name)
{
    char *source = text_format("%s/%s", from, name);
    struct buffer bytes = BUFFER_INIT;
    int r = read_file(source, &bytes);
    if (r == 0) {
        r = files_put(to, name, buffer_slice(&bytes));
    }
    buffer_release(&bytes);
    free(source);
    return r;
}

int files_move(const char *from, const char *to, const char *name)
{
    char *source = text_format("%s/%s", from, name);
    char *target = text_format("%s/%s", to, name);
    int r = rename(source, target) < 0 ? -errno : 0;
    free(source);
    free(target);
    return r;
}

int files_remove(const char *directory, const char *name)
{
    char *path = text_format("%s/%s", directory, name);
    int r = unlink(path) < 0 ? -errno : 0;
    free(path);
    return r;
}
