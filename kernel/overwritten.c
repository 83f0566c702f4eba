/*
 * Removes overwritten text: see overwritten.h. Runs in the kernel process, on
 * the thread of the zloop. Owns nothing.
 *
 * One pass, in place. Behind `floor`, on the line being written, stand only
 * stretches that may be dropped, each with its return; since a covered one goes
 * away at once, they become shorter and shorter. The first stretch is kept: it
 * goes on with a line of which a part may be sent already, and where its end is
 * on the screen is not known here. An empty one is kept too, with the return that
 * makes it one: "\r 10%" should not lose its "\r" for being the first.
 */

#include "kernel/overwritten.h"

#include "bridge/utf8.h"

enum { BYTES_OF_COLUMN_MAX = 3 }; /* of a character in `one_column` */

/*
 * Characters that take one column in every font and count as one in a browser:
 * letters, and what progress bars are drawn with. No control characters, nothing
 * that combines with its neighbour, nothing wide.
 */
static const struct {
    uint32_t first, last;
} one_column[] = {
    {0x20, 0x7e},     {0xa1, 0xac},     {0xae, 0x2ff},    {0x370, 0x377},
    {0x391, 0x3a1},   {0x3a3, 0x482},   {0x48a, 0x52f},   {0x2010, 0x2027},
    {0x2190, 0x2193}, {0x2500, 0x25a1}, {0x2800, 0x28ff},
};

/* The code point at the beginning of valid UTF-8; 0: of more than three bytes. */
static uint32_t code_point(const uint8_t *p, size_t *ret_n)
{
    if (*p < 0x80) {
        *ret_n = 1;
        return *p;
    }
    if (*p < 0xe0) {
        *ret_n = 2;
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    }
    *ret_n = *p < 0xf0 ? 3 : 4;
    return *p < 0xf0 ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu) : 0;
}

static bool takes_one_column(uint32_t code)
{
    for (size_t i = 0; i < sizeof one_column / sizeof one_column[0]; i++) {
        if (code >= one_column[i].first && code <= one_column[i].last) {
            return true;
        }
    }
    return false;
}

/* Columns that the text takes; 0: it is empty, or nobody can tell. */
static size_t columns_of(struct slice text)
{
    size_t columns = 0, n;

    for (size_t at = 0; at < text.n; at += n, columns++) {
        if (!takes_one_column(code_point(text.p + at, &n))) {
            return 0;
        }
    }
    return columns;
}

/* Where the stretch begins that ends with the return before `end`, if it is covered; else `end`. */
static size_t covered_from(const uint8_t *p, size_t floor, size_t end, size_t columns)
{
    size_t longest = columns * BYTES_OF_COLUMN_MAX + 1, start;
    const uint8_t *before;

    if (end == floor) {
        return end;
    }
    start = end - 1 - floor > longest ? end - 1 - longest : floor;
    before = memrchr(p + start, '\r', end - 1 - start);
    if (!before && start > floor) {
        return end;
    }
    start = before ? (size_t)(before - p) + 1 : floor;
    return utf8_count((struct slice){p + start, end - 1 - start}) <= columns ? start : end;
}

/* The stretch that is written at `end` makes those before it go. -> where it goes to */
static size_t cover(const uint8_t *p, size_t floor, size_t end, size_t columns)
{
    size_t start = end, covered;

    while (columns > 0 && (covered = covered_from(p, floor, start, columns)) < start) {
        start = covered;
    }
    return start;
}

static size_t stretch_end(const struct buffer *text, size_t at)
{
    while (at < text->n && text->p[at] != '\r' && text->p[at] != '\n') {
        at++;
    }
    return at;
}

void overwritten_drop(struct buffer *text)
{
    uint8_t *p = text->p;
    size_t at = 0, out = 0, floor = 0;
    bool first = true;

    while (at < text->n) {
        size_t end = stretch_end(text, at), n = end - at;
        size_t columns = columns_of((struct slice){p + at, n});

        out = cover(p, floor, out, columns);
        memmove(p + out, p + at, n);
        out += n;
        at = end;
        if (end < text->n) {
            bool again =
                p[end] == '\r' && n == 0 && out >= 2 && memcmp(p + out - 2, "\r\r", 2) == 0;

            if (!again) {
                p[out++] = p[end];
            }
            at++;
            floor = first || columns == 0 || p[end] == '\n' ? out : floor;
            first = false;
        }
    }
    text->n = out;
}
