/*
 * Chooses a Python. Runs in the kernel process.
 */

#include "kernel/python_path.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/xalloc.h"
#include "kernel/path_search.h"

char *python_path(const char *wanted)
{
    const char *environment = getenv("VIRTUAL_ENV");

    if (!wanted && environment && *environment) {
        return path_joined(environment, strlen(environment), "bin/python");
    }
    if (!wanted) {
        wanted = "python3";
    }
    return strchr(wanted, '/') ? xstrdup(wanted) : path_search(getenv("PATH"), wanted);
}
