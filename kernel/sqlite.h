#ifndef KERNEL_SQLITE_H
#define KERNEL_SQLITE_H

/*
 * libsqlite3, loaded while it is needed: no start pays for it, no idle kernel has it
 * in memory, and a machine without it has a kernel all the same. The header is needed
 * at build time only.
 */

#include <sqlite3.h>
#include <stddef.h>

/* What is used of it: sqlite->open_v2 is sqlite3_open_v2, and so on. */
struct sqlite {
    void *handle;
    __typeof__(sqlite3_open_v2) *open_v2;
    __typeof__(sqlite3_close_v2) *close_v2;
    __typeof__(sqlite3_busy_handler) *busy_handler;
    __typeof__(sqlite3_errmsg) *errmsg;
    __typeof__(sqlite3_exec) *exec;
    __typeof__(sqlite3_prepare_v2) *prepare_v2;
    __typeof__(sqlite3_bind_int64) *bind_int64;
    __typeof__(sqlite3_bind_text) *bind_text;
    __typeof__(sqlite3_step) *step;
    __typeof__(sqlite3_finalize) *finalize;
    __typeof__(sqlite3_column_int64) *column_int64;
    __typeof__(sqlite3_column_text) *column_text;
    __typeof__(sqlite3_column_bytes) *column_bytes;
    __typeof__(sqlite3_last_insert_rowid) *last_insert_rowid;
    __typeof__(sqlite3_shutdown) *shutdown;
};

#define SQLITE_LIBRARY "libsqlite3.so.0"

/*
 * Loads the library. One user of it at a time, on any thread.
 * -> 0; -ENOENT and why, in the linker's words.
 */
int sqlite_load(const char *library, struct sqlite *ret_sqlite, char *ret_error, size_t size);

/* Every connection is closed. Nothing of the library is left. */
void sqlite_unload(struct sqlite *self);

#endif
