/*
 * The session's history and the three ways to ask for it. Runs in the kernel
 * process, on the thread of the zloop. Owns the entries.
 */

#include "kernel/history.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bridge/utf8.h"
#include "bridge/xalloc.h"

struct history_entry {
    uint32_t line;
    uint8_t *input, *source, *output;
    size_t input_n, source_n, output_n; /* source_n 0: as input; output_n 0: no result */
};

static struct history_entry *at(const struct history *self, size_t i)
{
    return self->entry[(self->first + i) % HISTORY_ENTRIES];
}

static void drop_first(struct history *self)
{
    struct history_entry *entry = at(self, 0);

    self->bytes -= entry->input_n + entry->source_n + entry->output_n;
    self->first = (self->first + 1) % HISTORY_ENTRIES;
    self->count--;
    free(entry->input);
    free(entry->source);
    free(entry->output);
    free(entry);
}

void history_release(struct history *self)
{
    while (self->count > 0) {
        drop_first(self);
    }
}

/* A raw JSON string without its closing quote and without "\n" in front of that. */
static size_t without_newlines(struct slice raw)
{
    size_t n = raw.n - 1;

    while (n >= 3 && raw.p[n - 1] == 'n' && raw.p[n - 2] == '\\') {
        size_t backslashes = 1;

        while (raw.p[n - 2 - backslashes] == '\\') { /* the opening quote stands before all */
            backslashes++;
        }
        if (backslashes % 2 == 0) {
            break; /* a backslash, and the letter n */
        }
        n -= 2;
    }
    return n;
}

/* A copy of a raw JSON string, without newlines at its end. */
static uint8_t *copy_of_code(struct slice raw, size_t *ret_n)
{
    size_t n = without_newlines(raw) + 1;
    uint8_t *copy = xmemdup(raw.p, n);

    copy[n - 1] = '"';
    *ret_n = n;
    return copy;
}

/* The cell that was added last, if that is it. */
static struct history_entry *last_of(const struct history *self, uint32_t line)
{
    struct history_entry *last = self->count > 0 ? at(self, self->count - 1) : NULL;

    return last && last->line == line ? last : NULL;
}

void history_add(struct history *self, uint32_t line, struct slice input)
{
    struct history_entry *entry = xcalloc(1, sizeof *entry);

    if (self->count == HISTORY_ENTRIES) {
        drop_first(self);
    }
    entry->line = line;
    entry->input = copy_of_code(input, &entry->input_n);
    self->entry[(self->first + self->count) % HISTORY_ENTRIES] = entry;
    self->count++;
    self->bytes += entry->input_n;
    while (self->bytes > HISTORY_BYTES && self->count > 1) {
        drop_first(self);
    }
}

bool history_set_source(struct history *self, uint32_t line, struct slice source)
{
    struct history_entry *last = last_of(self, line);

    if (!last || last->source_n > 0) {
        return false;
    }
    last->source = copy_of_code(source, &last->source_n);
    self->bytes += last->source_n;
    return true;
}

void history_set_output(struct history *self, uint32_t line, struct slice output)
{
    struct history_entry *last = last_of(self, line);

    if (last && last->output_n == 0 && output.n <= HISTORY_OUTPUT_BYTES) {
        last->output = xmemdup(output.p, output.n);
        last->output_n = output.n;
        self->bytes += output.n;
    }
}

struct slice history_output(const struct history *self, uint32_t line)
{
    size_t low = 0, high = self->count; /* lines ascend */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (at(self, middle)->line < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == self->count || at(self, low)->line != line) {
        return (struct slice){NULL, 0};
    }
    return (struct slice){at(self, low)->output, at(self, low)->output_n};
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

/* As for IPython, what was typed is searched, whatever is to be shown of it. */
static bool fits(const struct history_entry *entry, struct slice pattern)
{
    struct buffer text = BUFFER_INIT;
    bool does;

    history_plain((struct slice){entry->input, entry->input_n}, &text);
    does = matches(pattern, buffer_slice(&text));
    buffer_release(&text);
    return does;
}

static bool same_input(const struct history_entry *a, const struct history_entry *b)
{
    return a->input_n == b->input_n && memcmp(a->input, b->input, a->input_n) == 0;
}

/* ---- answers: which entries, as flags ------------------------------------------- */

static void pick_range(const struct history *self, const struct history_query *query, bool *picked)
{
    uint32_t end = self->count > 0 ? at(self, self->count - 1)->line + 1 : 1;
    int64_t start = query->start < 0 ? query->start + end : query->start;
    int64_t stop = query->stop < 0 ? query->stop + end : query->stop;

    for (size_t i = 0; i < self->count; i++) {
        picked[i] = at(self, i)->line >= start && at(self, i)->line < stop;
    }
}

static void pick_tail(const struct history *self, const struct history_query *query, bool *picked)
{
    for (size_t i = 0; i < self->count; i++) {
        picked[i] = query->n < 0 || (int64_t)(self->count - i) <= query->n;
    }
}

/* Of inputs that stand twice, the later one is taken. */
static void pick_search(const struct history *self, const struct history_query *query, bool *picked)
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

static void (*const accesses[])(const struct history *self, const struct history_query *query,
                                bool *picked) = {
    [HISTORY_RANGE] = pick_range,
    [HISTORY_TAIL] = pick_tail,
    [HISTORY_SEARCH] = pick_search,
};

void history_put_row(struct buffer *out, int64_t session, int64_t line, struct slice input,
                     bool with_output, struct slice output)
{
    buffer_printf(out, "[%" PRId64 ",%" PRId64 ",", session, line);
    if (with_output) {
        buffer_put_char(out, '[');
    }
    buffer_put_slice(out, input);
    if (with_output) {
        buffer_put_char(out, ',');
        buffer_put_slice(out, output.n > 0 ? output : slice_of("null"));
        buffer_put_char(out, ']');
    }
    buffer_put_char(out, ']');
}

/* The code that is asked for: as it was typed, or as IPython ran it. */
static struct slice code_of(const struct history_entry *entry, bool raw)
{
    return raw || entry->source_n == 0 ? (struct slice){entry->input, entry->input_n}
                                       : (struct slice){entry->source, entry->source_n};
}

void history_answer(const struct history *self, const struct history_query *query, int64_t number,
                    struct buffer *ret_member)
{
    int64_t mine = number != 0 ? number : HISTORY_SESSION;
    bool is_range = query->access == HISTORY_RANGE;
    bool *picked = xcalloc(self->count + 1, sizeof *picked);
    const char *comma = "";

    if (!is_range || query->session == 0 || query->session == mine) {
        accesses[query->access](self, query, picked);
    }
    buffer_put_text(ret_member, "\"history\":[");
    for (size_t i = 0; i < self->count; i++) {
        const struct history_entry *entry = at(self, i);

        if (picked[i]) {
            buffer_put_text(ret_member, comma);
            history_put_row(ret_member, is_range ? query->session : mine, entry->line,
                            code_of(entry, query->raw), query->with_output,
                            (struct slice){entry->output, entry->output_n});
            comma = ",";
        }
    }
    buffer_put_char(ret_member, ']');
    free(picked);
}
