/*
 * Where Jupyter keeps what lasts as long as a kernel. Runs in the kernel
 * process. A table and no library: jupyter_core's rule is four variables long.
 */

#include "kernel/runtime_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int runtime_directory_make(char *path)
{
    char *end = path;
    do {
        end += 1 + strcspn(end + 1, "/");
        char kept = *end;
        *end = '\0';
        int error = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
        *end = kept;
        if (error != 0) {
            return error;
        }
    } while (*end != '\0');
    return 0;
}

int runtime_directory_own(char *ret_path, size_t size)
{
    static const char own[] = "/einkorn";
    if (size <= sizeof own) {
        return -ENAMETOOLONG;
    }
    int error = runtime_directory(ret_path, size - sizeof own);
    if (error != 0) {
        return error;
    }
    memcpy(ret_path + strlen(ret_path), own, sizeof own);
    return runtime_directory_make(ret_path);
}
