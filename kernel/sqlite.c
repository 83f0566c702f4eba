/*
 * Loads libsqlite3. Runs in the kernel process, on the thread that needs it
 * (history_keeper.c). Owns nothing: the library stays until the process ends.
 */

#include "kernel/sqlite.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

int sqlite_load(const char *library, struct sqlite *ret_sqlite, char *ret_error, size_t size)
{
    struct sqlite found;
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    const struct {
        const char *name;
        void **place;
    } functions[] = {
#define SQLITE_ROW_OF_TABLE(name) {"sqlite3_" #name, (void **)&found.name},
        SQLITE_FUNCTIONS(SQLITE_ROW_OF_TABLE)
#undef SQLITE_ROW_OF_TABLE
    };

    for (size_t i = 0; handle && i < sizeof functions / sizeof functions[0]; i++) {
        *functions[i].place = dlsym(handle, functions[i].name);
        if (!*functions[i].place) {
            handle = NULL;
        }
    }
    if (!handle) {
        (void)snprintf(ret_error, size, "%s", dlerror());
        return -ENOENT;
    }
    *ret_sqlite = found;
    return 0;
}
