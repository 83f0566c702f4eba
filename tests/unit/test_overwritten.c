/*
 * kernel/overwritten.c: what goes and what stays, as a table; and 300,000 random
 * texts, cut into random pieces, of which both kinds of clients must show the same
 * as without it.
 */

#include "kernel/overwritten.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct {
    const char *what, *in, *out;
} rows[] = {
    {"nothing to do", "plain\ntext", "plain\ntext"},
    {"empty", "", ""},
    {"one state of a bar", "\r  0%", "\r  0%"},
    {"states of a bar, each as long as the last", "\r  0%\r 25%\r100%", "\r100%"},
    {"returns at the ends, the first state may begin in the middle", "  0%\r 25%\r100%\r",
     "  0%\r100%\r"},
    {"a line that begins here", "x\n  0%\r 25%\r100%\n", "x\n100%\n"},
    {"the shorter text leaves the longer one's end", "\rabcdef\rxy", "\rabcdef\rxy"},
    {"but covers what is shorter still", "\rabcdef\rx\ryz", "\rabcdef\ryz"},
    {"a longer one covers all before it", "\rabc\rab\ra\rabcd", "\rabcd"},
    {"done, with a line end", "\r 50%\r100%\ndone", "\r100%\ndone"},
    {"return and line end are a line end", "abc\r\nde\r\nf", "abc\r\nde\r\nf"},
    {"a line end of two returns", "\nabc\r\r\n", "\nabc\r\r\n"},
    {"nothing covers nothing", "\rabc\r\r\rde", "\rabc\r\rde"},
    {"returns in a row", "\r\r\r\r\r\r", "\r\r"},
    {"drawn bars", "\r█░░ 1\r██░ 2\r███ 3", "\r███ 3"},
    {"accents are one column", "\rétat\retat", "\retat"},
    {"wide characters: nobody knows", "\r世\rab", "\r世\rab"},
    {"colours stay", "\r\x1b[31ma\x1b[0m\rbbbbbbbbbbbbbb\rcccccccccccccc",
     "\r\x1b[31ma\x1b[0m\rcccccccccccccc"},
    {"an escape covers nothing", "\ra\r\x1b[0mbcdefgh", "\ra\r\x1b[0mbcdefgh"},
    {"tabs and backspaces move", "\rab\rc\tdef\rgh\b\b\rijkl", "\rab\rc\tdef\rgh\b\b\rijkl"},
    {"a character that combines", "\re\xcc\x81\rabc", "\re\xcc\x81\rabc"},
};

Test(overwritten, what_is_covered_goes)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buffer text = BUFFER_INIT;

        buffer_put_text(&text, rows[i].in);
        overwritten_drop(&text);
        cr_expect(slice_is(buffer_slice(&text), rows[i].out), "%s: \"%.*s\"", rows[i].what,
                  (int)text.n, (const char *)text.p);
        buffer_release(&text);
    }
}

/* ---- the two ways to show it ------------------------------------------------------ */

enum { SHOWN_MAX = 1024 };

/* Where the line begins that ends before `end`. */
static size_t line_of(const char *p, size_t end)
{
    while (end > 0 && p[end - 1] != '\n') {
        end--;
    }
    return end;
}

/*
 * As terminals and JupyterLab: a return goes back, characters take the place of
 * those that were there, a line end goes to the end. The random texts stand one
 * byte for each character here, so that a place is a byte.
 */
static size_t shown_over(const char *p, size_t n, char *shown)
{
    size_t length = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\r') {
            at = line_of(shown, length);
        } else if (p[i] == '\n') {
            shown[length++] = '\n';
            at = length;
        } else {
            shown[at++] = p[i];
            length = at > length ? at : length;
        }
    }
    return length;
}

/* As nbclient and nbconvert: all up to the last return that no line end follows is cleared. */
static size_t shown_cleared(const char *p, size_t n, char *shown)
{
    size_t length = 0;

    for (size_t start = 0; start < n;) {
        const char *newline = memchr(p + start, '\n', n - start);
        size_t end = newline ? (size_t)(newline - p) : n, from = start;

        for (size_t i = start; i + 1 < end; i++) {
            from = p[i] == '\r' ? i + 1 : from;
        }
        memcpy(shown + length, p + from, end - from);
        length += end - from;
        if (newline) {
            shown[length++] = '\n';
            end++;
        }
        start = end;
    }
    return length;
}

static uint32_t seed = 1;

static unsigned random_below(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Letters tell the stretches apart; ESC stands for all that has no certain width. */
static size_t random_text(char *p, size_t max)
{
    static const char few[] = "\r\r\r\r\n\x1b";
    size_t n = random_below((unsigned)max);

    for (size_t i = 0; i < n; i++) {
        p[i] = random_below(3) == 0 ? few[random_below(sizeof few - 1)]
                                    : (char)('a' + random_below(26));
    }
    return n;
}

typedef size_t show_fn(const char *p, size_t n, char *shown);

static void expect_same(show_fn *show, struct slice before, struct slice after)
{
    char a[SHOWN_MAX], b[SHOWN_MAX];
    size_t an = show((const char *)before.p, before.n, a);
    size_t bn = show((const char *)after.p, after.n, b);

    cr_assert(an == bn && memcmp(a, b, an) == 0,
              "%.*s\n--- became\n%.*s\n--- shown\n%.*s\n--- not\n%.*s", (int)before.n,
              (const char *)before.p, (int)after.n, (const char *)after.p, (int)bn, b, (int)an, a);
}

Test(overwritten, clients_show_the_same_however_the_text_is_cut)
{
    size_t removed = 0;

    for (int round = 0; round < 300000; round++) {
        char text[64];
        size_t n = random_text(text, sizeof text), at = 0;
        struct buffer sent = BUFFER_INIT;

        while (at < n) {
            size_t piece = 1 + random_below((unsigned)(n - at));
            struct buffer waiting = BUFFER_INIT;

            buffer_put(&waiting, text + at, piece);
            overwritten_drop(&waiting);
            buffer_put_slice(&sent, buffer_slice(&waiting));
            buffer_release(&waiting);
            at += piece;
        }
        removed += n - sent.n;
        expect_same(shown_over, (struct slice){(const uint8_t *)text, n}, buffer_slice(&sent));
        expect_same(shown_cleared, (struct slice){(const uint8_t *)text, n}, buffer_slice(&sent));
        buffer_release(&sent);
    }
    cr_assert_gt(removed, 300000, "it does something");
}

Test(overwritten, takes_no_longer_for_long_lines_and_many_returns)
{
    /* One long stretch that nothing covers, and a million short ones that look back at it. */
    struct buffer text = BUFFER_INIT;

    buffer_put_text(&text, "\n");
    for (int i = 0; i < 1000000; i++) {
        buffer_put_char(&text, 'x');
    }
    for (int i = 0; i < 1000000; i++) {
        buffer_put_text(&text, i % 2 ? "\rab" : "\rc");
    }
    overwritten_drop(&text);
    cr_assert_eq(text.n, 1 + 1000000 + 3, "%zu", text.n);
    buffer_release(&text);
}
