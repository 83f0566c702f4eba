/*
 * The connection to the history's database, and statements in it. Runs in the kernel
 * process, on the keeper's thread. Owns the library and the connection, which live from
 * open to close, that is as long as one call of history_file.h: what is there the rest of
 * the time costs memory and a descriptor, and would go on writing into a file that has
 * been moved away.
 */

#include "kernel/history_sql.h"

#include <stdio.h>
#include <time.h>

#include "bridge/clock.h"

enum { LOCK_LOOK_MS = 10 }; /* between two tries to get a lock */

/* ---- the connection ------------------------------------------------------------ */

static int64_t now_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

/* Somebody has the lock. -> 1: try again. */
static int on_locked(void *arg, int times)
{
    struct history_file *self = arg;
    const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000000L};
    bool hurry = atomic_load(self->hurry);

    if (times == 0) {
        self->waited_since_ms = now_ms();
    }
    if (now_ms() - self->waited_since_ms >=
        (hurry ? HISTORY_FILE_HURRY_MS : HISTORY_FILE_LOCKED_MS)) {
        return 0;
    }
    (void)nanosleep(&pause, NULL);
    return 1;
}

int history_sql_fail(struct history_file *self)
{
    if (!self->failed) {
        self->failed = true;
        (void)snprintf(self->error, sizeof self->error, "%s",
                       self->db ? self->sqlite.errmsg(self->db) : "out of memory");
    }
    return -1;
}

int history_sql_open(struct history_file *self, int flags)
{
    self->failed = sqlite_load(self->library, &self->sqlite, self->error, sizeof self->error) < 0;
    if (self->failed) {
        return -1;
    }
    if (self->sqlite.open_v2(self->path, &self->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags,
                             NULL) != SQLITE_OK) {
        return history_sql_fail(self);
    }
    (void)self->sqlite.busy_handler(self->db, on_locked, self);
    return 0;
}

int history_sql_close(struct history_file *self)
{
    if (self->sqlite.handle) {
        (void)self->sqlite.close_v2(self->db);
        self->db = NULL;
        sqlite_unload(&self->sqlite);
    }
    return self->failed ? -1 : 0;
}

/* ---- statements ------------------------------------------------------------------- */

struct history_value history_number(int64_t number)
{
    return (struct history_value){.number = number};
}

struct history_value history_text(struct slice text)
{
    return (struct history_value){.text = text.p ? text : slice_of("")};
}

int history_sql_prepare(struct history_file *self, const char *sql,
                        const struct history_value *value, size_t count,
                        sqlite3_stmt **ret_statement)
{
    sqlite3_stmt *statement = NULL;
    int r = self->sqlite.prepare_v2(self->db, sql, -1, &statement, NULL);

    for (size_t i = 0; i < count && r == SQLITE_OK; i++) {
        int at = (int)i + 1;

        r = value[i].text.p ? self->sqlite.bind_text(statement, at, (const char *)value[i].text.p,
                                                     (int)value[i].text.n, SQLITE_STATIC)
                            : self->sqlite.bind_int64(statement, at, value[i].number);
    }
    if (r != SQLITE_OK) {
        (void)history_sql_fail(self);
        (void)self->sqlite.finalize(statement);
        return -1;
    }
    *ret_statement = statement;
    return 0;
}

int history_sql_run(struct history_file *self, const char *sql, const struct history_value *value,
                    size_t count, int64_t *ret_number)
{
    sqlite3_stmt *statement;
    int r;

    if (history_sql_prepare(self, sql, value, count, &statement) < 0) {
        return -1;
    }
    r = self->sqlite.step(statement);
    if (r == SQLITE_ROW && ret_number) {
        *ret_number = self->sqlite.column_int64(statement, 0);
    }
    if (r != SQLITE_ROW && r != SQLITE_DONE) {
        (void)history_sql_fail(self);
    }
    (void)self->sqlite.finalize(statement);
    return r == SQLITE_ROW ? 1 : r == SQLITE_DONE ? 0 : -1;
}

int history_sql_execute(struct history_file *self, const char *sql)
{
    return self->sqlite.exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                           : history_sql_fail(self);
}
