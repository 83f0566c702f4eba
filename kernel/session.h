#ifndef KERNEL_SESSION_H
#define KERNEL_SESSION_H

/*
 * What makes an outgoing message one of this process: the session id, message
 * ids, dates, and the signature (Messaging spec, "General message format").
 */

#include <stdint.h>
#include <sys/types.h>

#include "bridge/buffer.h"
#include "kernel/sign.h"

struct session {
    char id[37];       /* a random UUID; new in each process: clients see a restart by it */
    char username[64]; /* $USER */
    pid_t pid;
    uint64_t messages; /* ids given out */
};

void session_init(struct session *self, const char *username);

/* Appends a header of that type, with a fresh msg_id and the time of now. */
void session_put_header(struct session *self, const char *type, struct buffer *ret_header);

/* Appends the time of now: ISO 8601, UTC, microseconds, "Z". */
void session_put_date(struct buffer *ret_date);

#endif
