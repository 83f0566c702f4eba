#ifndef KERNEL_STALL_WATCH_H
#define KERNEL_STALL_WATCH_H

/*
 * Disconnects subscribers that take nothing while output waits for them
 * (--stall-timeout), so that they hold up neither the worker nor each other. Such
 * a client loses messages, alone; when it goes on it connects anew.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/connection.h"

struct kernel;

enum { STALL_CONNECTIONS = 64 }; /* watched at a time; further ones wait until there is room */

/* A subscriber that has not taken all yet. */
struct stall_connection {
    ino_t socket;      /* 0: none */
    uint64_t progress; /* changes when it takes something */
    int64_t since_ms;  /* when it last did, CLOCK_MONOTONIC */
    bool seen;         /* in this round */
};

struct stall_watch {
    struct stall_connection connection[STALL_CONNECTIONS];
    size_t most; /* bytes that waited at most, since nothing did */
};

/*
 * Looks at the connections of the iopub socket, and closes each that has taken
 * nothing for `timeout_ms`. Call it in intervals while ZeroMQ holds messages back.
 * `taken`: iopub_taken. -> how many were closed; each has its log line.
 */
size_t stall_watch_look(struct stall_watch *self, const struct connection *connection,
                        uint64_t taken, int64_t now_ms, int64_t timeout_ms);

/*
 * Output was published: sees that stalled subscribers are looked for while any of it waits, and
 * that the memory of a backlog is given back after it.
 */
void stall_watch_start(struct kernel *kernel);

#endif
