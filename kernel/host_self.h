#ifndef KERNEL_HOST_SELF_H
#define KERNEL_HOST_SELF_H

/*
 * What the files of libeinkorn-host share: struct host, and turns. Not installed.
 *
 * Whoever has the turn (host_turn_take) is the only one to read, write, connect
 * and close the transport. Others look at it, interrupt and kill under the lock,
 * and only while `connected`, so it cannot be closed under them.
 */

#include <pthread.h>

#include "kernel/host.h"
#include "kernel/host_frame.h"
#include "kernel/host_record.h"
#include "kernel/host_skills.h"

enum {
    HOST_LINE_LIMIT = 26000000,
    HOST_READY_MS = 15000,
    HOST_SHUTDOWN_MS = 5000,
    HOST_LOGS_ACCEPTED = 8, /* log frames before an answer that is not a cell's */
    HOST_MALFORMED_MAX = 8, /* lines that are no frame, in one request */
    HOST_TOKEN_BYTES = 32,
    HOST_TOKEN_TEXT = 2 * HOST_TOKEN_BYTES + 1,
};

struct host {
    struct host_options options; /* its texts are ours */
    char *cwd;                   /* the workspace, absolute */
    char id_prefix[24];          /* of automatic cell ids */

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t turn_ended;
    bool taken; /* somebody has the turn: */
    pthread_t owner;
    bool closed; /* host_shutdown was called */
    bool connected;
    struct host_transport transport; /* the owner may use it without the lock */
    unsigned generation;
    char authorization[HOST_TOKEN_TEXT + 32]; /* "": not known */
    unsigned long cells;                      /* automatic ids so far */
    size_t stale_chunks;
    struct host_record record; /* logs and calls */
    struct host_skills skills; /* what this worker's skill loaders have run */
    char *last_stderr;         /* of a worker whose transport is closed; NULL: none */
    size_t last_stderr_n;
};

/* Random bytes as hexadecimal digits, with a NUL behind them. */
void host_token(char *ret_text, size_t bytes);

/* Waits for the turn, or with wait false does not. -> 0; HOST_EBUSY; HOST_EDEAD: closed. */
int host_turn_take(struct host *self, bool wait, struct host_error *reterr);
void host_turn_end(struct host *self);

/* With the turn: makes the transport of this generation and shakes hands. -> as host_new. */
int host_connect(struct host *self, struct host_error *reterr);

/* With the turn: closes the transport, if there is one, and keeps the end of its stderr. */
void host_disconnect(struct host *self, bool graceful);

/* With the turn: sends a line. -> 0; HOST_EDEAD. */
int host_send(struct host *self, struct slice line, struct host_error *reterr);

/* With the turn: the next line. -> 0; HOST_EDEAD; HOST_EPROTOCOL: too long, it has been killed. */
int host_receive(struct host *self, struct slice *ret_line, struct host_error *reterr);

/* How the worker ended, in a sentence, with the end of its stderr. -> HOST_EDEAD. */
int host_tell_death(struct host *self, int cause, struct host_error *reterr);

/* What a request waits for. */
struct host_wait {
    enum host_frame_type type;
    const char *id;
    const struct host_cell *cell; /* NULL: it is no cell */
    struct buffer stream;         /* what the cell has printed so far, bounded */
};

/*
 * With the turn: takes frames, keeps logs, passes chunks on and answers calls,
 * until the frame that is waited for. It is lent until the next line.
 * -> 0; HOST_EDEAD, HOST_EPROTOCOL.
 */
int host_await(struct host *self, struct host_wait *wait, struct host_frame *ret_frame,
               struct host_error *reterr);

/* With the turn: answers one call. `cell_id` NULL: none runs. -> 0; HOST_EDEAD. */
int host_answer_call(struct host *self, const struct host_frame *frame, const char *cell_id,
                     struct host_error *reterr);

#endif
