/*
 * Looks for programs: see path_search.h. Any process, any thread; owns nothing.
 */

#include "kernel/path_search.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"

char *path_joined(const char *directory, size_t n, const char *name)
{
    struct buffer path = BUFFER_INIT;

    buffer_put(&path, directory, n);
    buffer_put_char(&path, '/');
    buffer_put(&path, name, strlen(name) + 1);
    return (char *)buffer_detach(&path, &n);
}

char *path_search(const char *path, const char *name)
{
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char *candidate = path_joined(n > 0 ? path : ".", n > 0 ? n : 1, name);

        if (access(candidate, X_OK) == 0) {
            return candidate;
        }
        free(candidate);
        path += n + (path[n] == ':' ? 1 : 0);
    }
    return xstrdup(name);
}
