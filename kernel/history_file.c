/*
 * Reads and writes IPython's history database: what lies in its tables, and how IPython
 * asks for it. Runs in the kernel process, on the keeper's thread. Each call opens the
 * database and closes it again (history_sql.h); what lasts is our session's number.
 */

#include "kernel/history_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bridge/clock.h"
#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/history_place.h"
#include "kernel/history_sql.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS sessions (session integer primary key autoincrement, "
    "start timestamp, end timestamp, num_cmds integer, remark text);"
    "CREATE TABLE IF NOT EXISTS history (session integer, line integer, source text, "
    "source_raw text, PRIMARY KEY (session, line));"
    "CREATE TABLE IF NOT EXISTS output_history (session integer, line integer, output text, "
    "PRIMARY KEY (session, line));";

void history_rows_release(struct history_rows *self)
{
    buffer_release(&self->text);
    free(self->row);
    memset(self, 0, sizeof *self);
}

void history_file_init(struct history_file *self, const char *library, const char *path,
                       const _Atomic bool *hurry)
{
    memset(self, 0, sizeof *self);
    self->library = library;
    self->path = path;
    self->hurry = hurry;
}

/* ---- writing ---------------------------------------------------------------------- */

/* As Python's datetime.now().isoformat(" "). */
static void put_now(char *ret_text, size_t size)
{
    int64_t us = clock_us(CLOCK_REALTIME);
    time_t seconds = (time_t)(us / 1000000);
    struct tm local;
    size_t n;

    (void)localtime_r(&seconds, &local);
    n = strftime(ret_text, size, "%Y-%m-%d %H:%M:%S", &local);
    (void)snprintf(ret_text + n, size - n, ".%06d", (int)(us % 1000000));
}

static int begin_session(struct history_file *self)
{
    struct history_value values[] = {history_number(self->session),
                                     history_text(slice_of(self->start))};
    int found =
        self->session == 0
            ? 0
            : history_sql_run(self, "SELECT 1 FROM sessions WHERE session = ? AND start = ?",
                              values, 2, NULL);

    if (found != 0) {
        return found < 0 ? -1 : 0;
    }
    put_now(self->start, sizeof self->start);
    values[1] = history_text(slice_of(self->start));
    if (history_sql_run(self, "INSERT INTO sessions VALUES (NULL, ?, NULL, NULL, '')", values + 1,
                        1, NULL) < 0) {
        return -1;
    }
    self->session = self->sqlite.last_insert_rowid(self->db);
    self->lines = 0;
    return 0;
}

static const char *const statements[] = {
    [HISTORY_CODE] = "INSERT OR REPLACE INTO history VALUES (?1, ?2, ?3, ?3)",
    [HISTORY_SOURCE] = "UPDATE history SET source = ?3 WHERE session = ?1 AND line = ?2",
    [HISTORY_OUTPUT] = "INSERT OR REPLACE INTO output_history VALUES (?1, ?2, ?3)",
};

static int put_line(struct history_file *self, const struct history_line *line)
{
    struct history_value values[] = {history_number(self->session), history_number(line->line),
                                     history_text(line->text)};

    return history_sql_run(self, statements[line->kind], values, 3, NULL);
}

static int write_lines(struct history_file *self, const struct history_line *line, size_t count,
                       int64_t *ret_cells)
{
    int64_t cells = 0;

    if (history_sql_execute(self, "BEGIN IMMEDIATE") < 0 || history_sql_execute(self, schema) < 0 ||
        begin_session(self) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (put_line(self, &line[i]) < 0) {
            return -1;
        }
        cells += line[i].kind == HISTORY_CODE ? 1 : 0;
    }
    *ret_cells = cells;
    return history_sql_execute(self, "COMMIT");
}

int history_file_write(struct history_file *self, const struct history_line *line, size_t count)
{
    struct history_file before = *self;
    int64_t cells = 0;
    int error = history_place_make(self->path);

    if (error < 0) {
        (void)snprintf(self->error, sizeof self->error, "%s", strerror(-error));
        return -1;
    }
    if (history_sql_open(self, SQLITE_OPEN_CREATE) == 0) {
        (void)write_lines(self, line, count, &cells);
    }
    if (history_sql_close(self) < 0) {
        self->session = before.session; /* the row that was begun is not there */
        memcpy(self->start, before.start, sizeof self->start);
        self->lines = before.lines;
        return -1;
    }
    self->lines += cells;
    return 0;
}

int history_file_end(struct history_file *self)
{
    char now[32];
    struct history_value values[3];
    int r = 0;

    if (self->session == 0) {
        return 0;
    }
    put_now(now, sizeof now);
    values[0] = history_text(slice_of(now));
    values[1] = history_number(self->lines);
    values[2] = history_number(self->session);
    if (history_sql_open(self, 0) == 0) {
        (void)history_sql_run(self, "UPDATE sessions SET end = ?, num_cmds = ? WHERE session = ?",
                              values, 3, NULL);
    }
    r = history_sql_close(self);
    self->session = 0;
    return r;
}

/* ---- reading ---------------------------------------------------------------------- */

static void add_row(struct history_rows *self, int64_t session, int64_t line)
{
    if (self->count == self->size) {
        self->size = self->size * 2 + 64;
        self->row = xrealloc(self->row, self->size * sizeof *self->row);
    }
    self->row[self->count++] = (struct history_row){.session = session, .line = line};
}

/* A column as a raw JSON string; nothing of NULL. */
static void put_column(struct history_file *self, sqlite3_stmt *statement, int column,
                       struct buffer *text, size_t *ret_at, size_t *ret_n)
{
    const unsigned char *p = self->sqlite.column_text(statement, column);
    size_t n = (size_t)self->sqlite.column_bytes(statement, column);

    *ret_at = text->n;
    if (p) {
        json_put_string(text, (struct slice){p, n});
    }
    *ret_n = text->n - *ret_at;
}

/* Adds what a SELECT finds: session, line, input, output. */
static int select_rows(struct history_file *self, const char *sql,
                       const struct history_value *value, size_t count, struct history_rows *rows)
{
    sqlite3_stmt *statement;
    int r;

    if (history_sql_prepare(self, sql, value, count, &statement) < 0) {
        return -1;
    }
    while ((r = self->sqlite.step(statement)) == SQLITE_ROW &&
           rows->text.n < HISTORY_FILE_ANSWER_BYTES) {
        struct history_row *row;

        add_row(rows, self->sqlite.column_int64(statement, 0),
                self->sqlite.column_int64(statement, 1));
        row = &rows->row[rows->count - 1];
        put_column(self, statement, 2, &rows->text, &row->input_at, &row->input_n);
        put_column(self, statement, 3, &rows->text, &row->output_at, &row->output_n);
        if (row->input_n == 0) {
            rows->count--; /* no input: no line */
        }
    }
    if (r != SQLITE_ROW && r != SQLITE_DONE) {
        (void)history_sql_fail(self);
    }
    (void)self->sqlite.finalize(statement);
    return self->failed ? -1 : 0;
}

static void reverse(struct history_rows *rows)
{
    for (size_t i = 0, j = rows->count; i + 1 < j; i++) {
        struct history_row row = rows->row[i];

        rows->row[i] = rows->row[--j];
        rows->row[j] = row;
    }
}

/* "SELECT …" up to WHERE; `latest`: of grouped rows the last one stands for all. */
static void put_select(struct buffer *sql, const struct history_query *query, bool latest)
{
    buffer_printf(sql, "SELECT session, line, history.%s, %s%s FROM history %s ",
                  query->raw ? "source_raw" : "source",
                  query->with_output ? "output_history.output" : "NULL",
                  latest ? ", MAX(session * 128 * 1024 + line)" : "",
                  query->with_output ? "LEFT JOIN output_history USING (session, line)" : "");
}

/* This session's lines come last, as they do for IPython. */
static int read_tail(struct history_file *self, const struct history_query *query,
                     struct buffer *sql, struct history_rows *rows)
{
    static const char *const parts[] = {
        "WHERE session = ? ORDER BY line DESC LIMIT ?",
        "WHERE session != ? ORDER BY session DESC, line DESC LIMIT ?",
    };
    int64_t left = query->n;
    int r = 0;

    for (size_t i = 0; i < 2 && r == 0 && left != 0; i++) {
        struct history_value values[] = {history_number(self->session), history_number(left)};

        buffer_clear(sql);
        put_select(sql, query, false);
        buffer_put(sql, parts[i], strlen(parts[i]) + 1);
        r = select_rows(self, (const char *)sql->p, values, 2, rows);
        left = query->n < 0 ? query->n : query->n - (int64_t)rows->count;
    }
    reverse(rows);
    return r;
}

static int read_search(struct history_file *self, const struct history_query *query,
                       struct buffer *sql, struct history_rows *rows)
{
    struct history_value values[] = {history_text(buffer_slice(&query->pattern)),
                                     history_number(query->n)};
    bool counted = query->n >= 0;
    int r;

    put_select(sql, query, query->unique);
    buffer_put_text(sql, "WHERE history.source_raw GLOB ?");
    buffer_put_text(sql, query->unique ? " GROUP BY history.source_raw" : "");
    buffer_put_text(sql, counted         ? " ORDER BY session DESC, line DESC LIMIT ?"
                         : query->unique ? " ORDER BY session, line"
                                         : " ORDER BY history.rowid");
    buffer_put_char(sql, '\0');
    r = select_rows(self, (const char *)sql->p, values, counted ? 2 : 1, rows);
    if (counted) {
        reverse(rows);
    }
    return r;
}

/* The number of this session, or the one that it would get. -> 0, -1. */
static int current_session(struct history_file *self, int64_t *ret_session)
{
    *ret_session = self->session;
    return self->session != 0 ? 0
           : history_sql_run(
                 self,
                 "SELECT IFNULL(MAX(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'sessions'",
                 NULL, 0, ret_session) < 0
               ? -1
               : 0;
}

static int read_range(struct history_file *self, const struct history_query *query,
                      struct buffer *sql, struct history_rows *rows)
{
    struct history_value values[] = {history_number(query->session), history_number(query->start),
                                     history_number(query->stop)};

    if (query->session <= 0) {
        int64_t current;

        if (current_session(self, &current) < 0) {
            return -1;
        }
        values[0].number = current + query->session;
    }
    put_select(sql, query, false);
    buffer_put_text(sql, "WHERE session = ? AND line >= ? AND line < ? ORDER BY line");
    buffer_put_char(sql, '\0');
    return select_rows(self, (const char *)sql->p, values, 3, rows);
}

static int (*const readers[])(struct history_file *self, const struct history_query *query,
                              struct buffer *sql, struct history_rows *rows) = {
    [HISTORY_RANGE] = read_range,
    [HISTORY_TAIL] = read_tail,
    [HISTORY_SEARCH] = read_search,
};

/* Nobody has written into it yet: no file, or one without our tables. */
static bool is_bare(struct history_file *self)
{
    int64_t tables = 0;

    return history_sql_run(self,
                           "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                           "name IN ('sessions', 'history', 'output_history')",
                           NULL, 0, &tables) >= 0 &&
           tables < 3;
}

int history_file_read(struct history_file *self, const struct history_query *query,
                      struct history_rows *ret_rows)
{
    struct history_rows rows = {0};
    struct buffer sql = BUFFER_INIT;
    struct stat there;

    if (stat(self->path, &there) == 0) {
        if (history_sql_open(self, 0) == 0 && !is_bare(self) && !self->failed) {
            (void)readers[query->access](self, query, &sql, &rows);
        }
        buffer_release(&sql);
        if (history_sql_close(self) < 0) {
            history_rows_release(&rows);
            return -1;
        }
    }
    *ret_rows = rows;
    return 0;
}
