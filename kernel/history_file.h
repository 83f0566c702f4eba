#ifndef KERNEL_HISTORY_FILE_H
#define KERNEL_HISTORY_FILE_H

/*
 * IPython's history database: tables `sessions`, `history` and `output_history`
 * (IPython/core/history.py), shared with its sessions and with ipykernel's.
 * One thread, which may be kept waiting by the disk and by those others.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"
#include "kernel/history_query.h"
#include "kernel/sqlite.h"

enum {
    HISTORY_FILE_LOCKED_MS = 5000,        /* how long a lock of somebody else's is waited for */
    HISTORY_FILE_HURRY_MS = 300,          /* the same when the kernel ends */
    HISTORY_FILE_ANSWER_BYTES = 32 << 20, /* of one answer; what is beyond is left out */
};

struct history_file {
    const char *library; /* borrowed */
    const char *path;    /* borrowed */
    int64_t session;     /* our row; 0: there is none yet */
    char start[32];      /* when it began, as the row says */
    int64_t lines;       /* stored in it */
    char error[512];     /* what went wrong last */

    /* The connection (history_sql.h): */
    struct sqlite sqlite;      /* loaded while `db` is open */
    struct sqlite3 *db;        /* NULL between two calls */
    const _Atomic bool *hurry; /* borrowed: nobody waits long any more */
    int64_t waited_since_ms;   /* for a lock, CLOCK_MONOTONIC */
    bool failed;               /* a statement has, see `error` */
};

enum history_kind {
    HISTORY_CODE,   /* a cell as it was typed */
    HISTORY_SOURCE, /* what IPython made of it, of a cell that is there; else the same as CODE */
    HISTORY_OUTPUT, /* its result */
};
/* One thing to be known of a cell. */
struct history_line {
    int64_t line;
    enum history_kind kind;
    struct slice text; /* UTF-8 */
};

/* What a query found, oldest first. Zero-initialise. */
struct history_row {
    int64_t session, line;
    size_t input_at, input_n, output_at, output_n; /* raw JSON strings in `text`; n 0: none */
};
struct history_rows {
    struct history_row *row;
    size_t count, size;
    struct buffer text;
};
void history_rows_release(struct history_rows *self);

/* Touches nothing yet. There is nothing to release. */
void history_file_init(struct history_file *self, const char *library, const char *path,
                       const _Atomic bool *hurry);

/*
 * Stores lines, all or none; the file, its directories, the tables and our session
 * come into being with the first. A line that is there already is replaced. If our
 * session is not in the file any more (somebody replaced the file), a new one is begun.
 * -> 0, or -1 and `error`.
 */
int history_file_write(struct history_file *self, const struct history_line *line, size_t count);

/*
 * Answers a query as IPython would with this session as the current one. What is
 * not there is no error: an answer without rows. -> 0, or -1 and `error`.
 */
int history_file_read(struct history_file *self, const struct history_query *query,
                      struct history_rows *ret_rows);

/* Our session, if there is one, is over: the next line begins another. -> 0, or -1 and `error`. */
int history_file_end(struct history_file *self);

#endif
