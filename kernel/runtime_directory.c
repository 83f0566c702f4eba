/*
 * Where Jupyter keeps what lasts as long as a kernel. Runs in the kernel
 * process. A table and no library: jupyter_core's rule is four variables long.
 */

#include "kernel/runtime_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int runtime_directory(char *ret_path, size_t size)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"JUPYTER_RUNTIME_DIR", ""},
        {"JUPYTER_DATA_DIR", "/runtime"},
        {"XDG_DATA_HOME", "/jupyter/runtime"},
        {"HOME", "/.local/share/jupyter/runtime"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *value = getenv(places[i].variable);
        if (value != NULL && value[0] != '\0') {
            int n = snprintf(NULL, 0, "%s%s", value, places[i].below);
            if (n < 0 || (size_t)n >= size) {
                return -ENAMETOOLONG;
            }
            (void)snprintf(ret_path, size, "%s%s", value, places[i].below);
            return 0;
        }
    }
    return -ENOENT;
}
