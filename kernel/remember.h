#ifndef KERNEL_REMEMBER_H
#define KERNEL_REMEMBER_H

/*
 * The history as the rest of the kernel sees it: cells go into the session's memory
 * (history.h) and, unless the user does not want that, into IPython's file
 * (history_keeper.h), whose thread starts with the first cell that is stored or the
 * first question that only the file can answer. Requests are answered from both.
 *
 * Where the file is the command line says, or a profile of the user's, which only Python
 * can read. It says ahead that it will (remember_hold), and reads it before the first cell.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/slice.h"
#include "kernel/options.h"

struct history_keeper;
struct history_query;
struct history_wait;
struct kernel;
struct origin;

enum {
    REMEMBER_ANSWER_MS = 2000, /* then a request is answered from memory alone */
    REMEMBER_PLACE_MS = 15000, /* the same while Python starts and reads the profile */
    REMEMBER_END_MS = 1000,    /* how long the kernel's end waits for the disk */
};

/* Zero-initialise. */
struct remember {
    struct history_keeper *keeper; /* NULL: there is no thread */
    bool off;                      /* the file is given up */
    bool held;                     /* a profile will say where the file is: nothing is written */
    uint32_t held_line;            /* the cell that came meanwhile; 0: none */
    struct options options;        /* the kernel's, with what the profile says of the history */
    char *file;                    /* what it names; NULL: the kernel's own options hold */
    bool told_full;                /* that a cell was left out, the disk being too slow */
    int64_t session;               /* this session's number in the file; 0: not known, or none */
    uint64_t asks;
    struct history_wait *waits; /* requests that wait for the thread (history_wait.h) */
};

/* A cell that is to be stored begins; `code` is a raw JSON string. */
void remember_cell(struct kernel *kernel, uint32_t line, struct slice code);

/* What IPython made of its code, where that is another: UTF-8. */
void remember_source(struct kernel *kernel, uint32_t line, struct slice text);

/* Its result's text/plain, a raw JSON string. */
void remember_result(struct kernel *kernel, uint32_t line, struct slice text);

/*
 * A profile is to be read, which may say where the history goes: nothing is written
 * before remember_place. Said before remember_ready, if at all. Without effect where the
 * file is in use, or not wanted.
 */
void remember_hold(struct kernel *kernel);

/* The worker is ready, so what it has to say of a profile it has said. */
void remember_ready(struct kernel *kernel);

/* It was read: the history goes to that file (n 0: none), and results, too, if `outputs`. */
void remember_place(struct kernel *kernel, struct slice file, bool outputs);

/*
 * Answers a history_request (reply and idle), now or when the thread has. Takes what
 * is in `query`, keeps a reference of origin.
 */
void remember_answer(struct kernel *kernel, struct origin *origin, struct history_query *query);

/* A new worker is another session. */
void remember_forget(struct kernel *kernel);

/* The kernel ends: answers what waits, and gives the disk its last moment. */
void remember_release(struct kernel *kernel);

#endif
