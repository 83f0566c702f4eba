/*
 * The session's history and the three ways to ask for it. Runs in the kernel
 * process, on the thread of the zloop. Owns the entries.
 */

#include "kernel/history.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "bridge/utf8.h"
#include "bridge/xalloc.h"

struct history_entry {
    uint32_t line;
    uint8_t *input, *output;
    size_t input_n, output_n; /* output_n 0: no result */
};

/* The request, read. */
struct query {
    bool with_output, unique;
    int64_t session, start, stop, n; /* n -1: all */
    struct buffer pattern;
};

static struct history_entry *at(const struct history *self, size_t i)
{
    return self->entry[(self->first + i) % HISTORY_ENTRIES];
}

static void drop_first(struct history *self)
{
    struct history_entry *entry = at(self, 0);

    self->bytes -= entry->input_n + entry->output_n;
    self->first = (self->first + 1) % HISTORY_ENTRIES;
    self->count--;
    free(entry->input);
    free(entry->output);
    free(entry);
}

void history_release(struct history *self)
{
    while (self->count > 0) {
        drop_first(self);
    }
}

void history_add(struct history *self, uint32_t line, struct slice input)
{
    struct history_entry *entry = xcalloc(1, sizeof *entry);

    if (self->count == HISTORY_ENTRIES) {
        drop_first(self);
    }
    entry->line = line;
    entry->input = xmemdup(input.p, input.n);
    entry->input_n = input.n;
    self->entry[(self->first + self->count) % HISTORY_ENTRIES] = entry;
    self->count++;
    self->bytes += input.n;
    while (self->bytes > HISTORY_BYTES && self->count > 1) {
        drop_first(self);
    }
}

void history_set_output(struct history *self, uint32_t line, struct slice output)
{
    struct history_entry *last = self->count > 0 ? at(self, self->count - 1) : NULL;

    if (last && last->line == line && last->output_n == 0 && output.n <= HISTORY_OUTPUT_BYTES) {
        last->output = xmemdup(output.p, output.n);
        last->output_n = output.n;
        self->bytes += output.n;
    }
}

/* ---- searching ------------------------------------------------------------- */

/* Bytes of the character at p. */
static size_t step(struct slice text)
{
    return utf8_prefix(text, 1);
}

/* Glob with * and ?, over whole characters. No recursion: only the last * is gone back to. */
static bool matches(struct slice pattern, struct slice text)
{
    struct slice retry_pattern = {NULL, 0}, retry_text = {NULL, 0};

    while (text.n > 0) {
        size_t n = step(text);

        if (pattern.n > 0 && pattern.p[0] == '*') {
            retry_pattern = (struct slice){++pattern.p, --pattern.n};
            retry_text = text;
        } else if (pattern.n > 0 && pattern.p[0] == '?') {
            pattern = (struct slice){pattern.p + 1, pattern.n - 1};
            text = (struct slice){text.p + n, text.n - n};
        } else if (pattern.n >= n && memcmp(pattern.p, text.p, n) == 0) {
            pattern = (struct slice){pattern.p + n, pattern.n - n};
            text = (struct slice){text.p + n, text.n - n};
        } else if (retry_pattern.p) {
            n = step(retry_text);
            retry_text = (struct slice){retry_text.p + n, retry_text.n - n};
            pattern = retry_pattern;
            text = retry_text;
        } else {
            return false;
        }
    }
    while (pattern.n > 0 && pattern.p[0] == '*') {
        pattern = (struct slice){pattern.p + 1, pattern.n - 1};
    }
    return pattern.n == 0;
}

static bool fits(const struct history_entry *entry, struct slice pattern)
{
    struct buffer raw = BUFFER_INIT, text = BUFFER_INIT;
    struct utf8_decoder decoder = {{0}, 0};
    bool does;

    /* Lone surrogates of the code become U+FFFD, so that characters can be counted. */
    json_string_decode((struct slice){entry->input, entry->input_n}, &raw);
    utf8_decode(&decoder, buffer_slice(&raw), &text);
    utf8_finish(&decoder, &text);
    does = matches(pattern, buffer_slice(&text));
    buffer_release(&raw);
    buffer_release(&text);
    return does;
}

static bool same_input(const struct history_entry *a, const struct history_entry *b)
{
    return a->input_n == b->input_n && memcmp(a->input, b->input, a->input_n) == 0;
}

/* ---- answers: which entries, as flags ------------------------------------------- */

static void pick_range(const struct history *self, const struct query *query, bool *picked)
{
    uint32_t end = self->count > 0 ? at(self, self->count - 1)->line + 1 : 1;
    int64_t start = query->start < 0 ? query->start + end : query->start;
    int64_t stop = query->stop < 0 ? query->stop + end : query->stop;

    for (size_t i = 0; i < self->count; i++) {
        picked[i] = (query->session == 0 || query->session == HISTORY_SESSION) &&
                    at(self, i)->line >= start && at(self, i)->line < stop;
    }
}

static void pick_tail(const struct history *self, const struct query *query, bool *picked)
{
    for (size_t i = 0; i < self->count; i++) {
        picked[i] = query->n < 0 || (int64_t)(self->count - i) <= query->n;
    }
}

/* Of inputs that stand twice, the later one is taken. */
static void pick_search(const struct history *self, const struct query *query, bool *picked)
{
    int64_t left = query->n < 0 ? INT64_MAX : query->n;

    for (size_t i = self->count; i-- > 0 && left > 0;) {
        picked[i] = fits(at(self, i), buffer_slice(&query->pattern));
        for (size_t later = i + 1; query->unique && picked[i] && later < self->count; later++) {
            picked[i] = !(picked[later] && same_input(at(self, i), at(self, later)));
        }
        left -= picked[i] ? 1 : 0;
    }
}

static const struct {
    const char *name;
    void (*pick)(const struct history *self, const struct query *query, bool *picked);
    bool answers_session; /* with the number that was asked for */
} accesses[] = {
    {"range", pick_range, true},
    {"tail", pick_tail, false},
    {"search", pick_search, false},
};

static void put_entry(const struct history_entry *entry, int64_t session, bool with_output,
                      struct buffer *out)
{
    buffer_printf(out, "[%" PRId64 ",%" PRIu32 ",", session, entry->line);
    if (with_output) {
        buffer_put_char(out, '[');
    }
    buffer_put(out, entry->input, entry->input_n);
    if (with_output) {
        buffer_put_char(out, ',');
        buffer_put_slice(out, entry->output_n > 0 ? (struct slice){entry->output, entry->output_n}
                                                  : slice_of("null"));
        buffer_put_char(out, ']');
    }
    buffer_put_char(out, ']');
}

/* -> NULL, or what is wrong. */
static const char *read_query(struct slice content, struct query *query)
{
    struct slice pattern;
    int r;

    if (json_object_get_bool(content, "output", false, &query->with_output) < 0 ||
        json_object_get_bool(content, "unique", false, &query->unique) < 0) {
        return "'output' or 'unique' is no boolean";
    }
    if (json_object_get_int(content, "session", 0, &query->session) < 0 ||
        json_object_get_int(content, "start", 0, &query->start) < 0 ||
        json_object_get_int(content, "stop", INT64_MAX, &query->stop) < 0 ||
        json_object_get_int(content, "n", -1, &query->n) < 0) {
        return "'session', 'start', 'stop' or 'n' is no whole number";
    }
    r = json_object_get_kind(content, "pattern", JSON_STRING, &pattern);
    if (r == JSON_EKIND) {
        return "'pattern' is no string";
    }
    if (r == 0) {
        json_string_decode(pattern, &query->pattern);
    } else {
        buffer_put_char(&query->pattern, '*');
    }
    return NULL;
}

const char *history_answer(const struct history *self, struct slice content,
                           struct buffer *ret_member)
{
    struct query query = {.pattern = BUFFER_INIT};
    const char *wrong = read_query(content, &query);
    bool *picked = xcalloc(self->count + 1, sizeof *picked);
    struct slice type, found = {NULL, 0};
    size_t access = 0, n = sizeof accesses / sizeof accesses[0];

    if (json_object_get_kind(content, "hist_access_type", JSON_STRING, &type) == 0) {
        found = type;
    }
    while (access < n && !(found.p && json_string_is(found, accesses[access].name))) {
        access++;
    }
    if (!wrong && access == n) {
        wrong = "'hist_access_type' is none of range, tail, search";
    }
    if (!wrong) {
        int64_t session = accesses[access].answers_session ? query.session : HISTORY_SESSION;
        const char *comma = "";

        accesses[access].pick(self, &query, picked);
        buffer_put_text(ret_member, "\"history\":[");
        for (size_t i = 0; i < self->count; i++) {
            if (picked[i]) {
                buffer_put_text(ret_member, comma);
                put_entry(at(self, i), session, query.with_output, ret_member);
                comma = ",";
            }
        }
        buffer_put_char(ret_member, ']');
    }
    buffer_release(&query.pattern);
    free(picked);
    return wrong;
}
