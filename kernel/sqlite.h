#ifndef KERNEL_SQLITE_H
#define KERNEL_SQLITE_H

/*
 * libsqlite3, loaded when it is first needed: no start pays for it, and a machine
 * without it has a kernel all the same. The header is needed at build time only.
 */

#include <sqlite3.h>
#include <stddef.h>

#define SQLITE_FUNCTIONS(X)                                                                        \
    X(open_v2)                                                                                     \
    X(close_v2)                                                                                    \
    X(busy_handler)                                                                                \
    X(errmsg)                                                                                      \
    X(exec)                                                                                        \
    X(prepare_v2)                                                                                  \
    X(bind_int64)                                                                                  \
    X(bind_text)                                                                                   \
    X(step)                                                                                        \
    X(finalize)                                                                                    \
    X(column_int64)                                                                                \
    X(column_text)                                                                                 \
    X(column_bytes)                                                                                \
    X(last_insert_rowid)

/* sqlite->open_v2 is sqlite3_open_v2, and so on. */
struct sqlite {
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

#define SQLITE_LIBRARY "libsqlite3.so.0"

/*
 * Loads the library, for the rest of the process. Any thread.
 * -> 0; -ENOENT and why, in the linker's words.
 */
int sqlite_load(const char *library, struct sqlite *ret_sqlite, char *ret_error, size_t size);

#endif
