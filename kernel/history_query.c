/*
 * Reads a history_request. Runs in the kernel process, on the thread of the
 * zloop; history_plain on any. Owns nothing.
 */

#include "kernel/history_query.h"

#include "bridge/json_text.h"

static const char *const access_names[] = {
    [HISTORY_RANGE] = "range",
    [HISTORY_TAIL] = "tail",
    [HISTORY_SEARCH] = "search",
};
enum { ACCESSES = sizeof access_names / sizeof access_names[0] };

void history_plain(struct slice raw, struct buffer *out)
{
    static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};
    size_t i = out->n;

    json_string_decode(raw, out);
    while (i + 2 < out->n) {
        if (out->p[i] == 0xED && out->p[i + 1] >= 0xA0) { /* a surrogate: as many bytes */
            memcpy(out->p + i, replacement, sizeof replacement);
        }
        i++;
    }
}

static const char *read_access(struct slice content, struct history_query *query)
{
    struct slice type;
    int i = 0;

    if (json_object_get_kind(content, "hist_access_type", JSON_STRING, &type) == 0) {
        while (i < ACCESSES && !json_string_is(type, access_names[i])) {
            i++;
        }
    } else {
        i = ACCESSES;
    }
    query->access = (enum history_access)i;
    return i < ACCESSES ? NULL : "'hist_access_type' is none of range, tail, search";
}

static const char *read_numbers(struct slice content, struct history_query *query)
{
    int64_t all = query->access == HISTORY_TAIL ? HISTORY_TAIL_DEFAULT : -1;

    if (json_object_get_int(content, "session", 0, &query->session) < 0 ||
        json_object_get_int(content, "start", 0, &query->start) < 0 ||
        json_object_get_int(content, "stop", INT64_MAX, &query->stop) < 0 ||
        json_object_get_int(content, "n", all, &query->n) < 0) {
        return "'session', 'start', 'stop' or 'n' is no whole number";
    }
    query->stop = query->stop == 0 ? INT64_MAX : query->stop; /* as for IPython */
    query->n = query->n < 0 ? -1 : query->n;
    return NULL;
}

const char *history_query_read(struct slice content, struct history_query *ret_query)
{
    struct history_query query = {.pattern = BUFFER_INIT};
    const char *wrong = read_access(content, &query);
    struct slice pattern = slice_of("\"*\"");

    if (!wrong && (json_object_get_bool(content, "output", false, &query.with_output) < 0 ||
                   json_object_get_bool(content, "raw", true, &query.raw) < 0 ||
                   json_object_get_bool(content, "unique", false, &query.unique) < 0)) {
        wrong = "'output', 'raw' or 'unique' is no boolean";
    }
    wrong = wrong ? wrong : read_numbers(content, &query);
    if (!wrong && json_object_get_kind(content, "pattern", JSON_STRING, &pattern) == JSON_EKIND) {
        wrong = "'pattern' is no string";
    }
    if (!wrong) {
        history_plain(pattern, &query.pattern);
        *ret_query = query;
    }
    return wrong;
}

void history_query_release(struct history_query *self)
{
    buffer_release(&self->pattern);
}

bool history_query_is_range_of(const struct history_query *self, int64_t session)
{
    return self->access == HISTORY_RANGE && (self->session == 0 || self->session == session);
}
