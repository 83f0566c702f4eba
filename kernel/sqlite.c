/*
 * Loads libsqlite3. Runs in the kernel process, on the thread that needs it
 * (history_keeper.c). Owns nothing; the user owns the library. It costs a third
 * of a millisecond to load, and 1.5 MB to keep.
 */

#include "kernel/sqlite.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        "sqlite3_" #name, offsetof(struct sqlite, name)                                            \
    }

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    FUNCTION(open_v2),      FUNCTION(close_v2),
    FUNCTION(busy_handler), FUNCTION(errmsg),
    FUNCTION(exec),         FUNCTION(prepare_v2),
    FUNCTION(bind_int64),   FUNCTION(bind_text),
    FUNCTION(step),         FUNCTION(finalize),
    FUNCTION(column_int64), FUNCTION(column_text),
    FUNCTION(column_bytes), FUNCTION(last_insert_rowid),
    FUNCTION(shutdown),
};

int sqlite_load(const char *library, struct sqlite *ret_sqlite, char *ret_error, size_t size)
{
    struct sqlite found = {.handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL)};
    void *function = found.handle;

    for (size_t i = 0; function && i < sizeof functions / sizeof functions[0]; i++) {
        function = dlsym(found.handle, functions[i].name);
        memcpy((char *)&found + functions[i].offset, &function, sizeof function);
    }
    if (!function) {
        (void)snprintf(ret_error, size, "%s", dlerror());
        if (found.handle) {
            (void)dlclose(found.handle);
        }
        return -ENOENT;
    }
    *ret_sqlite = found;
    return 0;
}

void sqlite_unload(struct sqlite *self)
{
    (void)self->shutdown();
    (void)dlclose(self->handle);
    memset(self, 0, sizeof *self);
}
