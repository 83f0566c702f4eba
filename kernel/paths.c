/*
 * Where the parts of Einkorn lie. Kernel process; used by the supervisor, which
 * starts the launcher, and by `einkorn install`.
 *
 * The way from the executable's directory to the private one is fixed when
 * CMake configures (EINKORN_PRIVATE_FROM_BIN, "../lib/einkorn"), because
 * distributions choose other names for `lib`. Owns the strings it makes.
 */

#include "kernel/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/xalloc.h"

/* dir + "/" + name, on the heap. */
static char *path_join(const char *dir, const char *name)
{
    size_t size = strlen(dir) + 1 + strlen(name) + 1;
    char *path = xmalloc(size);
    (void)snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* The executable's own path, links resolved by the system. -> 0, -errno. */
static int read_program(char **ret_program)
{
    size_t size = 256;
    for (;;) {
        char *path = xmalloc(size);
        ssize_t n = readlink("/proc/self/exe", path, size);
        if (n < 0) {
            int error = -errno;
            free(path);
            return error;
        }
        if ((size_t)n < size) {
            path[n] = '\0';
            *ret_program = path;
            return 0;
        }
        free(path);
        size *= 2;
    }
}

/*
 * Applies the leading "../" of `way` to a directory by cutting names off, so
 * that the result has no ".." in it and reads well in kernel.json.
 */
static char *walk(const char *from, const char *way)
{
    char *dir = xstrdup(from);
    while (strncmp(way, "../", 3) == 0) {
        char *slash = strrchr(dir, '/');
        if (slash) {
            *slash = '\0';
        }
        way += 3;
    }
    char *path = path_join(dir, way);
    free(dir);
    return path;
}

int paths_init(struct paths *ret_paths)
{
    char *program = NULL;
    int r = read_program(&program);
    if (r < 0) {
        return r;
    }
    char *bin = xstrdup(program);
    *strrchr(bin, '/') = '\0'; /* /proc/self/exe is always absolute */
    char *library = walk(bin, EINKORN_PRIVATE_FROM_BIN);
    free(bin);
    *ret_paths = (struct paths){
        .program = program,
        .library = library,
        .kernel = path_join(library, "einkorn-kernel.so"),
        .launcher = path_join(library, "einkorn-python"),
        .runner = path_join(library, "_einkorn.abi3.so"),
        .python = path_join(library, "python"),
        .kernelspec = path_join(library, "kernelspec"),
    };
    return 0;
}

void paths_release(struct paths *self)
{
    free(self->program);
    free(self->library);
    free(self->kernel);
    free(self->launcher);
    free(self->runner);
    free(self->python);
    free(self->kernelspec);
    *self = (struct paths){0};
}
