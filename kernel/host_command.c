/*
 * The worker's command line. Part of libeinkorn-host; any thread.
 *
 * The worker starts in its workspace, so what the host named relative to its
 * own directory is made absolute here; links stay, since a venv's python is one.
 * Owns its texts.
 */

#include "kernel/host_command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/xalloc.h"
#include "kernel/path_search.h"

extern char **environ;

static char *absolute(const char *path)
{
    char directory[PATH_MAX];

    if (*path == '/' || !strchr(path, '/') || !getcwd(directory, sizeof directory)) {
        return xstrdup(path);
    }
    return path_joined(directory, strlen(directory), path);
}

static const char *path_of(char *const *environment)
{
    for (; *environment; environment++) {
        if (strncmp(*environment, "PATH=", 5) == 0) {
            return *environment + 5;
        }
    }
    return "";
}

void host_command_init(struct host_command *self, const struct host_options *options)
{
    const char *python = options->python ? options->python : "python3";
    char *found =
        strchr(python, '/')
            ? xstrdup(python)
            : path_search(path_of(options->environment ? options->environment : environ), python);

    *self =
        (struct host_command){.einkorn = absolute(options->einkorn ? options->einkorn : "einkorn"),
                              .python = absolute(found)};
    /* As it was given: a relative one must not put a directory of the workspace on PATH. */
    if (!options->argv) {
        self->interpreter = *found == '/' ? self->python : NULL;
    }
    free(found);
    self->argv[0] = self->einkorn;
    self->argv[1] = "frames";
    self->argv[2] = "--python";
    self->argv[3] = self->python;
    self->argv[4] = NULL;
}

void host_command_release(struct host_command *self)
{
    free(self->einkorn);
    free(self->python);
    *self = (struct host_command){.einkorn = NULL};
}

const char *const *host_command_argv(const struct host_command *self,
                                     const struct host_options *options)
{
    return options->argv ? options->argv : self->argv;
}
