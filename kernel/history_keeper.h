#ifndef KERNEL_HISTORY_KEEPER_H
#define KERNEL_HISTORY_KEEPER_H

/*
 * The thread that has to do with the history's file. Nothing here ever waits for
 * the disk but history_keeper_destroy, which has a deadline. What is put in is
 * written a moment later, in one transaction with what came meanwhile. What the
 * thread has to tell are news; a descriptor is readable when there are some.
 * All functions belong to one thread, the zloop's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kernel/history_file.h"
#include "kernel/history_query.h"

enum {
    HISTORY_KEEPER_FIRST_MS = 100,   /* until the first cell is written: its session is asked for */
    HISTORY_KEEPER_GATHER_MS = 500,  /* until the others are: what kill -9 may cost */
    HISTORY_KEEPER_ITEMS = 10000,    /* that may wait for the disk */
    HISTORY_KEEPER_BYTES = 32 << 20, /* of them */
};

struct options;
struct history_keeper;

enum history_news_kind {
    HISTORY_NEWS_SESSION, /* the session that goes on has that number in the file */
    HISTORY_NEWS_ROWS,    /* the answer to an ask */
    HISTORY_NEWS_OFF,     /* the file is given up: nothing more is written or answered */
};
struct history_news {
    enum history_news_kind kind;
    int64_t session;          /* SESSION */
    uint64_t ask;             /* ROWS */
    struct history_rows rows; /* ROWS; the taker's */
    char *text;               /* OFF: why; the taker's */
};

/* Starts the thread. `library`: SQLITE_LIBRARY. -> NULL: the system gives no thread. */
struct history_keeper *history_keeper_new(const struct options *options, const char *library);

/*
 * Ends the session in the file and waits for what is not written yet, but not longer
 * than that. -> true: all is written, or the file was given up before.
 */
bool history_keeper_destroy(struct history_keeper **self_p, int64_t wait_ms);

/*
 * A cell, or what is known of it later: a raw JSON string, copied. -> 0; -EAGAIN: too
 * much waits for the disk, it is left out; -ESHUTDOWN: the file is given up.
 */
int history_keeper_put(struct history_keeper *self, enum history_kind kind, int64_t line,
                       struct slice text);

/* The next cell belongs to another session. -> as above. */
int history_keeper_put_end(struct history_keeper *self);

/*
 * Asks the file; the answer sees all that was put in before, and has that number.
 * The query is copied. -> as above.
 */
int history_keeper_ask(struct history_keeper *self, const struct history_query *query,
                       uint64_t number);

/* Readable while there are news. */
int history_keeper_fd(const struct history_keeper *self);

/* -> true: the next news. */
bool history_keeper_take(struct history_keeper *self, struct history_news *ret_news);

#endif
