/*
 * bridge/utf8.c: Unicode's own table of maximal subparts, every way to cut a
 * text into pieces, and counting at every length.
 */

#include "bridge/utf8.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>

#define R "\xEF\xBF\xBD"
/* A text with NUL bytes or split literals, and how long it is. */
#define TEXT(literal) literal, sizeof(literal) - 1

static const struct {
    const char *what, *in;
    size_t n;
    const char *out;
} decoded[] = {
    {"plain", TEXT("hello"), "hello"},
    {"one to four bytes", TEXT("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
     "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {"first and last of each length",
     TEXT("\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
     "\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    {"around the surrogates", TEXT("\xED\x9F\xBF\xEE\x80\x80"), "\xED\x9F\xBF\xEE\x80\x80"},
    /* Unicode 15.0, section 3.9, tables 3-8 to 3-11 */
    {"non-shortest forms", TEXT("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), R R R R R R R R "A"},
    {"surrogates", TEXT("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), R R R R R R R R "A"},
    {"other ill-formed sequences", TEXT("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
     R R R R R "A" R R "B"},
    {"truncated sequences", TEXT("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), R R R R "A"},
    {"above U+10FFFF", TEXT("\xF4\x90\x80\x80"), R R R R},
    {"five bytes", TEXT("\xF8\x88\x80\x80\x80"), R R R R R},
    {"lone continuation", TEXT("\x80"), R},
    {"cut after one", TEXT("a\xC3"), "a" R},
    {"cut after two of three", TEXT("\xE2\x82"), R},
    {"cut after three of four", TEXT("\xF0\x9F\x98"), R},
    {"cut surrogate is two bad sequences", TEXT("\xED\xA0"), R R},
    {"good after cut", TEXT("\xF0\x9F\x98\xC3\xA9"), R "\xC3\xA9"},
    {"long plain before a bad one", TEXT("0123456789abcdef0123456789\xFFz"),
     "0123456789abcdef0123456789" R "z"},
};
enum { DECODED = sizeof decoded / sizeof decoded[0] };

ParameterizedTestParameters(utf8, bad_sequences_become_replacements_however_the_text_is_cut)
{
    static size_t index[DECODED];
    for (size_t i = 0; i < DECODED; i++) {
        index[i] = i;
    }
    return cr_make_param_array(size_t, index, DECODED);
}

static void feed(struct utf8_decoder *decoder, const char *p, size_t n, struct buffer *buffer)
{
    /* From the heap, in exact size: a read behind the piece is seen by the sanitizer. */
    struct buffer piece = BUFFER_INIT;
    buffer_put(&piece, p, n);
    utf8_decode(decoder, buffer_slice(&piece), buffer);
    buffer_release(&piece);
}

ParameterizedTest(size_t *index, utf8, bad_sequences_become_replacements_however_the_text_is_cut)
{
    const char *in = decoded[*index].in, *what = decoded[*index].what;
    size_t n = decoded[*index].n;
    for (size_t first = 0; first <= n; first++) {
        for (size_t second = first; second <= n; second++) {
            struct utf8_decoder decoder = {0};
            struct buffer buffer = BUFFER_INIT;
            feed(&decoder, in, first, &buffer);
            feed(&decoder, in + first, second - first, &buffer);
            feed(&decoder, in + second, n - second, &buffer);
            utf8_finish(&decoder, &buffer);
            cr_expect(slice_is(buffer_slice(&buffer), decoded[*index].out),
                      "%s: cut at %zu and %zu", what, first, second);
            buffer_release(&buffer);
        }
    }
}

Test(utf8, unfinished_end_is_kept_back_and_finish_is_idempotent)
{
    struct utf8_decoder decoder = {0};
    struct buffer buffer = BUFFER_INIT;
    utf8_decode(&decoder, slice_of("x\xE2\x82"), &buffer);
    cr_assert(slice_is(buffer_slice(&buffer), "x"));
    utf8_decode(&decoder, slice_of("\xAC"), &buffer);
    cr_assert(slice_is(buffer_slice(&buffer), "x\xE2\x82\xAC"));
    utf8_finish(&decoder, &buffer);
    utf8_decode(&decoder, slice_of("\xF0"), &buffer);
    utf8_finish(&decoder, &buffer);
    utf8_finish(&decoder, &buffer);
    cr_assert(slice_is(buffer_slice(&buffer), "x\xE2\x82\xAC" R));
    buffer_release(&buffer);
}

Test(utf8, sequence_tells_valid_bad_and_unfinished_apart)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"a", 1},          {"\xC3\xA9z", 2},      {"\xE2\x82\xAC", 3}, {"\xF0\x9F\x98\x80", 4},
        {"\xC3", 0},       {"\xE2\x82", 0},       {"\xF0\x9F\x98", 0}, {"\xF4", 0},
        {"\x80", -1},      {"\xC1\x80", -1},      {"\xE0\x80", -1},    {"\xED\xA0\x80", -1},
        {"\xE2\x82z", -2}, {"\xF0\x9F\x98z", -3}, {"\xF4\x90", -1},    {"\xF5\x80", -1},
        {"\xFF", -1},      {"\xC3z", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect(eq(int, utf8_sequence(slice_of(cases[i].text)), cases[i].result), "case %zu", i);
    }
}

Test(utf8, valid_ends_before_the_first_bad_or_unfinished_sequence)
{
    cr_expect(eq(sz, utf8_valid(slice_of("")), 0));
    cr_expect(eq(sz, utf8_valid(slice_of("0123456789abcdef\xC3\xA9")), 18));
    cr_expect(eq(sz, utf8_valid(slice_of("0123456789abcdef\xC3")), 16));
    cr_expect(eq(sz, utf8_valid(slice_of("\xC3\xA9\xFF")), 2));
    cr_expect(eq(sz, utf8_valid(slice_of("abcdefg\xED\xA0\x80")), 7));
}

/* Words of eight bytes start at every place of every character: the text repeats 1+2+3+4 bytes. */
Test(utf8, counting_agrees_with_a_walk_at_every_length)
{
    struct buffer buffer = BUFFER_INIT;
    size_t ends[121] = {0}; /* where each character ends */
    static const char *const characters[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < 120; i++) {
        buffer_put_text(&buffer, characters[i % 4]);
        ends[i + 1] = buffer.n;
    }
    for (size_t n = 0; n <= 120; n++) {
        struct slice text = {buffer.p, ends[n]};
        cr_assert(eq(sz, utf8_count(text), n));
        for (size_t k = 0; k <= 125; k++) {
            size_t some = k < n ? k : n;
            cr_assert(eq(sz, utf8_prefix(text, k), ends[some]), "prefix %zu of %zu", k, n);
            cr_assert(eq(sz, utf8_suffix(text, k), ends[n - some]), "suffix %zu of %zu", k, n);
        }
    }
    buffer_release(&buffer);
}
