#ifndef KERNEL_HOST_FRAME_H
#define KERNEL_HOST_FRAME_H

/*
 * One line of a worker, taken apart without a copy.
 */

#include "bridge/json_text.h"
#include "bridge/slice.h"
#include "kernel/host.h"

enum host_frame_type {
    HOST_FRAME_OTHER, /* an object of a type that is not for us */
    HOST_FRAME_INITIALIZED,
    HOST_FRAME_INITIALIZATION_ERROR,
    HOST_FRAME_STDOUT_CHUNK,
    HOST_FRAME_HOST_CALL,
    HOST_FRAME_LOG,
    HOST_FRAME_RESPONSE,
    HOST_FRAME_VARIABLES_RESPONSE,
    HOST_FRAME_SKILL_LOAD,
    HOST_FRAME_TYPES
};

struct host_frame {
    struct slice line; /* checked; borrowed from the transport */
    enum host_frame_type type;
};

/* Python's JSON: RFC 8259, and NaN, Infinity, -Infinity as numbers. -> 0, enum json_error. */
int host_json_check(struct slice text, enum json_kind *ret_kind);

/* -> 0, enum json_error: no JSON, or no object. */
int host_frame_open(struct host_frame *self, struct slice line);

/* -> true: the frame has that member, and it is a string that says exactly this. */
bool host_frame_says(const struct host_frame *self, const char *key, const char *text);

/*
 * A member as a text of its own. Strings are decoded; with _raw it is the JSON
 * of any kind. p NULL where there is none, or it is null or (decoded) no string.
 */
struct host_text host_frame_text(const struct host_frame *self, const char *key);
struct host_text host_frame_raw(const struct host_frame *self, const char *key);

struct host_text host_text_of(struct slice bytes); /* a copy */
void host_text_release(struct host_text *self);

#endif
