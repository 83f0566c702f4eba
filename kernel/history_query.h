#ifndef KERNEL_HISTORY_QUERY_H
#define KERNEL_HISTORY_QUERY_H

/*
 * What a history_request asks for (Messaging spec, "History"). Whoever answers,
 * the session's memory or the file, reads it from here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum history_access { HISTORY_RANGE, HISTORY_TAIL, HISTORY_SEARCH };

enum { HISTORY_TAIL_DEFAULT = 10 }; /* lines of a tail that does not say how many: IPython's */

struct history_query {
    enum history_access access;
    bool with_output;
    bool raw;    /* as it was typed, not as IPython has transformed it */
    bool unique; /* of inputs that stand several times only the last */
    int64_t session, start;
    int64_t stop;          /* the first line that is not wanted; INT64_MAX: none */
    int64_t n;             /* -1: all */
    struct buffer pattern; /* UTF-8 */
};

/*
 * Reads a checked content. -> NULL, or what is wrong with it (static), and then
 * there is nothing to release.
 */
const char *history_query_read(struct slice content, struct history_query *ret_query);
void history_query_release(struct history_query *self);

/* Whether it asks for lines of this session, which is the current one, and of no other. */
bool history_query_is_range_of(const struct history_query *self, int64_t session);

/*
 * Appends a raw JSON string as UTF-8. A lone surrogate, which is legal in code,
 * becomes U+FFFD, so that characters can be counted and stored.
 */
void history_plain(struct slice raw, struct buffer *out);

#endif
