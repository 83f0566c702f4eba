/*
 * Frames of a worker. Part of libeinkorn-host. The line is a stranger's: it is
 * checked as a whole before anything is looked for in it. Owns nothing.
 */

#include "kernel/host_frame.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/xalloc.h"

static const char *const types[HOST_FRAME_TYPES] = {
    [HOST_FRAME_INITIALIZED] = "initialized",
    [HOST_FRAME_INITIALIZATION_ERROR] = "initialization_error",
    [HOST_FRAME_STDOUT_CHUNK] = "stdout_chunk",
    [HOST_FRAME_HOST_CALL] = "host_call",
    [HOST_FRAME_LOG] = "log",
    [HOST_FRAME_RESPONSE] = "response",
    [HOST_FRAME_VARIABLES_RESPONSE] = "variables_response",
    [HOST_FRAME_SKILL_LOAD] = "skill_sidecar_load",
};

/* Python's names of numbers, and as long a number that RFC 8259 has too. */
static const struct {
    const char *name, *number;
} special[] = {
    {"NaN", "1.0"},
    {"Infinity", "1.000000"},
};

static size_t special_at(const uint8_t *p, const uint8_t *end, const char **ret_number)
{
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        size_t n = strlen(special[i].name);

        if ((size_t)(end - p) >= n && memcmp(p, special[i].name, n) == 0) {
            *ret_number = special[i].number;
            return n;
        }
    }
    return 0;
}

/* Whether a value may begin at p. */
static bool may_begin(const uint8_t *start, const uint8_t *p)
{
    return p == start || strchr(" \t\r\n[:,-", p[-1]) != NULL;
}

/*
 * A copy in which these names are numbers. Inside strings nothing is looked for:
 * there a quote ends the string unless a backslash stands before it.
 */
static uint8_t *without_special(struct slice text)
{
    uint8_t *copy = xmemdup(text.p, text.n);
    uint8_t *end = copy + text.n;
    bool in_string = false;

    for (uint8_t *p = copy; p < end; p++) {
        const char *number;
        size_t n;

        if (*p == '"') {
            in_string = !in_string;
        } else if (in_string) {
            p += *p == '\\' ? 1 : 0;
        } else if (may_begin(copy, p) && (n = special_at(p, end, &number)) > 0) {
            memcpy(p, number, n);
            p += n - 1;
        }
    }
    return copy;
}

int host_json_check(struct slice text, enum json_kind *ret_kind)
{
    int r = json_check(text, JSON_DEPTH_LIMIT, ret_kind);

    if (r == JSON_ESYNTAX && text.n > 0 &&
        (memmem(text.p, text.n, "NaN", 3) || memmem(text.p, text.n, "Infinity", 8))) {
        uint8_t *copy = without_special(text);

        r = json_check((struct slice){copy, text.n}, JSON_DEPTH_LIMIT, ret_kind);
        free(copy);
    }
    return r;
}

int host_frame_open(struct host_frame *self, struct slice line)
{
    enum json_kind kind;
    struct slice type;
    int r = host_json_check(line, &kind);

    if (r == 0 && kind != JSON_OBJECT) {
        r = JSON_EKIND;
    }
    if (r < 0) {
        return r;
    }
    while (line.n > 0 && *line.p != '{') { /* json_object_find starts at the brace */
        line.p++;
        line.n--;
    }
    *self = (struct host_frame){.line = line};
    if (json_object_get_kind(line, "type", JSON_STRING, &type) == 0) {
        for (unsigned i = HOST_FRAME_OTHER + 1; i < HOST_FRAME_TYPES; i++) {
            if (json_string_is(type, types[i])) {
                self->type = i;
            }
        }
    }
    return 0;
}

bool host_frame_says(const struct host_frame *self, const char *key, const char *text)
{
    struct slice raw;

    return json_object_get_kind(self->line, key, JSON_STRING, &raw) == 0 &&
           json_string_is(raw, text);
}

struct host_text host_text_of(struct slice bytes)
{
    char *copy = xmalloc(bytes.n + 1);

    if (bytes.n > 0) {
        memcpy(copy, bytes.p, bytes.n);
    }
    copy[bytes.n] = '\0';
    return (struct host_text){copy, bytes.n};
}

void host_text_release(struct host_text *self)
{
    free((void *)(uintptr_t)self->p);
    *self = (struct host_text){NULL, 0};
}

struct host_text host_frame_text(const struct host_frame *self, const char *key)
{
    struct buffer text = BUFFER_INIT;
    struct slice raw;
    size_t n;

    if (json_object_get_kind(self->line, key, JSON_STRING, &raw) != 0) {
        return (struct host_text){NULL, 0};
    }
    json_string_decode(raw, &text);
    buffer_put_char(&text, '\0');
    n = text.n - 1;
    return (struct host_text){(char *)buffer_detach(&text, &text.n), n};
}

struct host_text host_frame_raw(const struct host_frame *self, const char *key)
{
    struct slice raw;

    if (json_object_find(self->line, key, &raw) != 0) {
        return (struct host_text){NULL, 0};
    }
    return host_text_of(raw);
}
