/*
 * Is this JSON? RFC 8259, UTF-8 included, in one pass over the text.
 *
 * Both processes use it, on bytes from strangers: nothing here recurses or
 * allocates, and how deep the text nests is one bit per level (array or object)
 * in a fixed array. Most bytes of a message stand inside strings (10 MB of
 * code is one string), so these are looked at eight at a time. Owns nothing.
 */

#include "bridge/json_scan.h"
#include "bridge/json_text.h"

#include "bridge/check.h"
#include "bridge/utf8.h"

#define ONES ((uint64_t)0x0101010101010101)
#define HIGH (ONES << 7)

struct scan {
    const uint8_t *p, *end;
    unsigned depth, max_depth;
    uint64_t object[JSON_DEPTH_LIMIT / 64]; /* bit d - 1: what is open at depth d is an object */
};

/* Nonzero if one of eight bytes is below 0x20, a quote, a backslash, or not ASCII. */
static uint64_t special8(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    uint64_t quote = word ^ (ONES * '"');
    uint64_t backslash = word ^ (ONES * '\\');
    /* A byte that is less than the one taken off borrows into its top bit. */
    return (word | (word - ONES * 0x20) | (quote - ONES) | (backslash - ONES)) & HIGH;
}

const uint8_t *json_run(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (end - p >= 8 && special8(p) == 0) {
            p += 8;
        } else if (*p >= 0x80) {
            int n = utf8_sequence((struct slice){p, (size_t)(end - p)});
            if (n <= 0) {
                break;
            }
            p += n;
        } else if (*p >= 0x20 && *p != '"' && *p != '\\') {
            p++;
        } else {
            break;
        }
    }
    return p;
}

/* At a backslash. */
static int check_escape(struct scan *self)
{
    static const char simple[] = "\"\\/bfnrt";
    if (self->end - self->p < 2) {
        return JSON_ESYNTAX;
    }
    uint8_t c = self->p[1];
    if (c != 'u') {
        self->p += 2;
        return c != 0 && strchr(simple, c) != NULL ? 0 : JSON_ESYNTAX;
    }
    if (self->end - self->p < 6) {
        return JSON_ESYNTAX;
    }
    for (int i = 2; i < 6; i++) {
        if (json_hex(self->p[i]) < 0) {
            return JSON_ESYNTAX;
        }
    }
    self->p += 6;
    return 0;
}

/* At what should be a quote. */
static int check_string(struct scan *self)
{
    if (self->p == self->end || *self->p != '"') {
        return JSON_ESYNTAX;
    }
    self->p++;
    for (;;) {
        self->p = json_run(self->p, self->end);
        if (self->p == self->end) {
            return JSON_ESYNTAX;
        }
        if (*self->p == '"') {
            self->p++;
            return 0;
        }
        if (*self->p != '\\') {
            return *self->p >= 0x80 ? JSON_EUTF8 : JSON_ESYNTAX;
        }
        int error = check_escape(self);
        if (error != 0) {
            return error;
        }
    }
}

static bool skip_digits(struct scan *self)
{
    const uint8_t *start = self->p;
    while (self->p < self->end && *self->p >= '0' && *self->p <= '9') {
        self->p++;
    }
    return self->p > start;
}

static bool skip_byte(struct scan *self, const char *one_of)
{
    if (self->p == self->end || *self->p == 0 || strchr(one_of, *self->p) == NULL) {
        return false;
    }
    self->p++;
    return true;
}

/* At a minus sign or a digit. */
static int check_number(struct scan *self)
{
    skip_byte(self, "-");
    if (!skip_byte(self, "0") && !skip_digits(self)) {
        return JSON_ESYNTAX;
    }
    if (skip_byte(self, ".") && !skip_digits(self)) {
        return JSON_ESYNTAX;
    }
    if (skip_byte(self, "eE")) {
        skip_byte(self, "+-");
        return skip_digits(self) ? 0 : JSON_ESYNTAX;
    }
    return 0;
}

static int check_word(struct scan *self, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(self->end - self->p) < n || memcmp(self->p, word, n) != 0) {
        return JSON_ESYNTAX;
    }
    self->p += n;
    return 0;
}

/* At the first byte of a value that is no array and no object. */
static int check_scalar(struct scan *self)
{
    switch (*self->p) {
    case '"':
        return check_string(self);
    case 't':
        return check_word(self, "true");
    case 'f':
        return check_word(self, "false");
    case 'n':
        return check_word(self, "null");
    default:
        return check_number(self);
    }
}

static bool in_object(const struct scan *self)
{
    unsigned level = self->depth - 1;
    return self->object[level / 64] >> level % 64 & 1;
}

/* At a bracket. */
static int open_level(struct scan *self)
{
    if (self->depth == self->max_depth) {
        return JSON_EDEPTH;
    }
    uint64_t bit = (uint64_t)1 << self->depth % 64;
    if (*self->p == '{') {
        self->object[self->depth / 64] |= bit;
    } else {
        self->object[self->depth / 64] &= ~bit;
    }
    self->depth++;
    self->p = json_skip_space(self->p + 1, self->end);
    return 0;
}

/* If the innermost level ends here: goes behind its bracket. */
static bool close_level(struct scan *self)
{
    if (!skip_byte(self, in_object(self) ? "}" : "]")) {
        return false;
    }
    self->depth--;
    return true;
}

/* Behind a value: over closing brackets to the next value's place. Depth 0: that was all. */
static int go_on(struct scan *self)
{
    while (self->depth > 0) {
        self->p = json_skip_space(self->p, self->end);
        if (!close_level(self)) {
            if (!skip_byte(self, ",")) {
                return JSON_ESYNTAX;
            }
            self->p = json_skip_space(self->p, self->end);
            return 0;
        }
    }
    return 0;
}

/* Before a value; in an object its key comes first. */
static int check_key(struct scan *self)
{
    if (self->depth == 0 || !in_object(self)) {
        return 0;
    }
    int error = check_string(self);
    if (error != 0) {
        return error;
    }
    self->p = json_skip_space(self->p, self->end);
    if (!skip_byte(self, ":")) {
        return JSON_ESYNTAX;
    }
    self->p = json_skip_space(self->p, self->end);
    return 0;
}

/* One step: a scalar and what follows it, or an opening bracket. */
static int check_value(struct scan *self)
{
    int error = check_key(self);
    if (error != 0) {
        return error;
    }
    if (self->p == self->end) {
        return JSON_ESYNTAX;
    }
    if (*self->p == '{' || *self->p == '[') {
        error = open_level(self);
        if (error != 0 || !close_level(self)) {
            return error;
        }
        return go_on(self);
    }
    error = check_scalar(self);
    return error != 0 ? error : go_on(self);
}

int json_check(struct slice text, unsigned max_depth, enum json_kind *ret_kind)
{
    CHECK(max_depth <= JSON_DEPTH_LIMIT);
    if (text.n == 0) {
        return JSON_ESYNTAX;
    }
    const uint8_t *end = text.p + text.n;
    struct scan scan = {
        .p = json_skip_space(text.p, end),
        .end = end,
        .max_depth = max_depth,
    };
    do {
        int error = check_value(&scan);
        if (error != 0) {
            return error;
        }
    } while (scan.depth > 0);
    if (json_skip_space(scan.p, end) != end) {
        return JSON_ESYNTAX;
    }
    *ret_kind = json_kind_of(text);
    return 0;
}
