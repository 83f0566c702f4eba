#ifndef BRIDGE_JSON_TEXT_H
#define BRIDGE_JSON_TEXT_H

/*
 * JSON as text: checks, finds and writes without building a tree. Contents of
 * messages go through here, because a tree of 10 MB of code costs 100 ms, and
 * because lone surrogates ("\ud800") are legal in code but refused by tree
 * readers. RFC 8259, strict; escapes \u0000 and lone surrogates are accepted.
 * No recursion: nesting is counted, not followed. Linked into both processes.
 */

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

enum json_error {
    JSON_ESYNTAX = -11001, /* not JSON, or something after it */
    JSON_EDEPTH = -11002,  /* nested deeper than allowed */
    JSON_EUTF8 = -11003,   /* not UTF-8 */
    JSON_EKIND = -11004,   /* not the kind asked for */
    JSON_ENOENT = -11005,  /* no such member */
};
enum { JSON_DEPTH_LIMIT = 1024 };

const char *json_error_text(int error); /* "nested too deeply", …; static */

/*
 * Checks a whole text (white space around it is allowed): grammar, UTF-8,
 * nesting up to max_depth (at most JSON_DEPTH_LIMIT; 0: no arrays or objects).
 * -> 0 and the kind of the outermost value, or an error.
 */
int json_check(struct slice text, unsigned max_depth, enum json_kind *ret_kind);

/* The functions below expect text that json_check accepted. */

enum json_kind json_kind_of(struct slice value);

/*
 * The raw text of a top-level member of an object, without white space around
 * it; the last one wins if a key stands twice. Keys are compared after their
 * escapes are undone. (Not called "get": jansson exports json_object_get, and
 * the kernel process links both.) -> 0, JSON_ENOENT, JSON_EKIND: not an object.
 */
int json_object_find(struct slice object, const char *key, struct slice *ret_value);

/* The same, and it must be of that kind. -> 0, JSON_ENOENT, JSON_EKIND. */
int json_object_get_kind(struct slice object, const char *key, enum json_kind kind,
                         struct slice *ret_value);

/* A boolean member, or `otherwise` where there is none (or null). -> 0, JSON_EKIND. */
int json_object_get_bool(struct slice object, const char *key, bool otherwise, bool *ret_value);

/*
 * A whole-number member (5, -5, 5.0), or `otherwise` where there is none (or
 * null). What is too large is the nearest int64_t. -> 0, JSON_EKIND.
 */
int json_object_get_int(struct slice object, const char *key, int64_t otherwise,
                        int64_t *ret_value);

/* Walks an object's members. `at` starts at 0. -> true: one more. Raw texts (key with quotes). */
bool json_object_next(struct slice object, size_t *at, struct slice *ret_key,
                      struct slice *ret_value);

/* The same for the items of an array. */
bool json_array_next(struct slice array, size_t *at, struct slice *ret_value);

/*
 * Appends what a raw string (with its quotes) says, as UTF-8; lone surrogates
 * come out as three bytes each (Python: "surrogatepass").
 */
void json_string_decode(struct slice raw, struct buffer *buffer);

/* True if a raw string says exactly this. */
bool json_string_is(struct slice raw, const char *text);

/*
 * Appends a quoted string. Bytes that are no UTF-8 (surrogates too) become
 * U+FFFD, one for each maximal bad sequence as Unicode 3.9 recommends.
 */
void json_put_string(struct buffer *buffer, struct slice utf8);

#endif
