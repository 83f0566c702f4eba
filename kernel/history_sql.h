#ifndef KERNEL_HISTORY_SQL_H
#define KERNEL_HISTORY_SQL_H

/*
 * SQLite as history_file.c uses it; nobody else includes this. What has failed once, from
 * open to close, has failed: it is told by close, in words by `error`. The keeper's thread.
 */

#include "kernel/history_file.h"

/*
 * Loads the library and opens the file; `flags`: SQLITE_OPEN_CREATE or 0. A lock of
 * somebody else's is waited for. -> 0, -1; close must follow in either case.
 */
int history_sql_open(struct history_file *self, int flags);

/* Undoes what is not committed. -> 0, -1: something has failed since open. */
int history_sql_close(struct history_file *self);

/* Keeps the first thing that went wrong in words. -> -1. */
int history_sql_fail(struct history_file *self);

/* What stands for a "?": text, or, where that is NULL, the number. */
struct history_value {
    int64_t number;
    struct slice text;
};
struct history_value history_number(int64_t number);
struct history_value history_text(struct slice text); /* borrowed; NULL is the empty text */

/* Values for the "?" of a statement, which they must outlast. The caller finalizes it. -> 0, -1. */
int history_sql_prepare(struct history_file *self, const char *sql,
                        const struct history_value *value, size_t count,
                        sqlite3_stmt **ret_statement);

/*
 * Runs a statement; of the first row, if there is one, gives the first column (ret_number
 * may be NULL). -> rows (0, 1), -1.
 */
int history_sql_run(struct history_file *self, const char *sql, const struct history_value *value,
                    size_t count, int64_t *ret_number);

/* Runs statements without values and without an answer. -> 0, -1. */
int history_sql_execute(struct history_file *self, const char *sql);

#endif
