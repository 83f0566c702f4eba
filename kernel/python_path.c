/*
 * Chooses a Python. Runs in the kernel process.
 */

#include "kernel/python_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"

static char *joined(const char *directory, size_t n, const char *name)
{
    struct buffer path = BUFFER_INIT;

    buffer_put(&path, directory, n);
    buffer_put_char(&path, '/');
    buffer_put(&path, name, strlen(name) + 1);
    return (char *)buffer_detach(&path, &n);
}

static char *search(const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *candidate = joined(n > 0 ? path : ".", n > 0 ? n : 1, name);

        if (access(candidate, X_OK) == 0) {
            return candidate;
        }
        free(candidate);
        path += n + (path[n] == ':' ? 1 : 0);
    }
    return xstrdup(name);
}

char *python_path(const char *wanted)
{
    const char *environment = getenv("VIRTUAL_ENV");

    if (!wanted && environment && *environment) {
        return joined(environment, strlen(environment), "bin/python");
    }
    if (!wanted) {
        wanted = "python3";
    }
    return strchr(wanted, '/') ? xstrdup(wanted) : search(wanted);
}
