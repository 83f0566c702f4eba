/*
 * `einkorn uninstall`. Kernel process, which does nothing else then. Only what
 * bears our mark is removed: a name alone proves nothing.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/paths.h"
#include "kernel/python_path.h"
#include "kernelspec/install.h"
#include "kernelspec/probe.h"
#include "kernelspec/spec.h"

/* sys.prefix of the Python that is meant; NULL: it cannot say, and that is told. The caller's. */
static char *ask_prefix(const struct options *options)
{
    char error[PROBE_ERROR_MAX] = "cannot find my own place in /proc/self/exe";
    char *python = python_path(options->python);
    char *prefix = NULL;
    struct paths paths;
    struct probe probe;
    if (paths_init(&paths) == 0) {
        if (probe_init(&probe, python, &paths, error) == 0) {
            prefix = probe.prefix;
            probe.prefix = NULL;
            probe_release(&probe);
        }
        paths_release(&paths);
    }
    if (!prefix) {
        (void)fprintf(stderr, "einkorn: %s; --prefix DIR needs no Python\n", error);
    }
    free(python);
    return prefix;
}

static int remove_ours(const char *directory, const char *name)
{
    bool restored;
    int r = spec_remove(directory, &restored);
    if (r < 0) {
        (void)fprintf(stderr, "einkorn: cannot remove the kernelspec in %s: %s\n", directory,
                      strerror(-r));
        return EXIT_FAILURE;
    }
    (void)printf("Removed the kernelspec %s from %s%s\n", name, directory,
                 restored ? "; the one that was there before is back" : "");
    return EXIT_SUCCESS;
}

int uninstall_run(const struct options *options)
{
    const char *name = options->name ? options->name : "einkorn";
    char *prefix = options->where == INSTALL_SYS_PREFIX ? ask_prefix(options) : NULL;
    int status = EXIT_FAILURE;
    if (options->where == INSTALL_SYS_PREFIX && !prefix) {
        return status;
    }
    char *directory = spec_directory(options, prefix);
    if (!directory) {
        (void)fprintf(stderr, "einkorn: --user needs a home directory: set HOME, or use "
                              "--prefix DIR\n");
    } else {
        switch (spec_owner(directory)) {
        case SPEC_OURS:
            status = remove_ours(directory, name);
            break;
        case SPEC_FOREIGN:
            (void)fprintf(stderr,
                          "einkorn: %s is another kernel's and stays: `jupyter kernelspec remove "
                          "%s` removes it\n",
                          directory, name);
            break;
        case SPEC_NONE:
            (void)fprintf(stderr,
                          "einkorn: there is no kernelspec in %s: `einkorn doctor` lists ours\n",
                          directory);
            break;
        }
    }
    free(directory);
    free(prefix);
    return status;
}
