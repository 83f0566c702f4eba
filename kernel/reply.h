#ifndef KERNEL_REPLY_H
#define KERNEL_REPLY_H

/*
 * Replies: on the request's channel, to its identities (Messaging spec, "Request-Reply").
 */

#include "bridge/buffer.h"
#include "bridge/slice.h"
#include "kernel/origin.h"

struct kernel;

/* Sends `<type>_reply` with this content, a JSON object as text. */
void reply_send(struct kernel *kernel, const struct origin *to, struct slice metadata,
                struct slice content);

/* status error with ename, evalue and traceback (one line, `ename: evalue`). */
void reply_error(struct kernel *kernel, const struct origin *to, const char *ename,
                 const char *evalue);

/*
 * Appends the members "ename":…,"evalue":…,"traceback":[…]. `detail`, if not
 * NULL, is the traceback's first item.
 */
void reply_put_error(struct buffer *content, const char *ename, const char *evalue,
                     const char *detail);

#endif
