/*
 * bridge/json_text*.c: tables of what is JSON and what is not (RFC 8259),
 * members, strings undone and made.
 */

#include "bridge/json_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define TEXT(literal) literal, sizeof(literal) - 1
#define COUNT(table)  (sizeof(table) / sizeof((table)[0]))

enum { DEPTH = 100 };

/* Checks a copy of exact size, so a read behind the text is seen by the sanitizer. */
static int check(const char *p, size_t n, unsigned depth, enum json_kind *ret_kind)
{
    struct buffer copy = BUFFER_INIT;
    buffer_put(&copy, p, n);
    struct slice text = buffer_slice(&copy);
    if (n > 0) {
        /* The allocation is larger than the text: put the text at its end. */
        memmove(copy.p + copy.size - n, copy.p, n);
        text.p = copy.p + copy.size - n;
    }
    int error = json_check(text, depth, ret_kind);
    buffer_release(&copy);
    return error;
}

static const struct {
    const char *text;
    size_t n;
    enum json_kind kind;
} accepted[] = {
    {TEXT("null"), JSON_NULL},
    {TEXT("true"), JSON_TRUE},
    {TEXT("false"), JSON_FALSE},
    {TEXT("0"), JSON_NUMBER},
    {TEXT("-0"), JSON_NUMBER},
    {TEXT("-0.0e-0"), JSON_NUMBER},
    {TEXT("10"), JSON_NUMBER},
    {TEXT("1.5"), JSON_NUMBER},
    {TEXT("1e400"), JSON_NUMBER},
    {TEXT("1E+2"), JSON_NUMBER},
    {TEXT("123456789012345678901234567890"), JSON_NUMBER},
    {TEXT("\"\""), JSON_STRING},
    {TEXT("\"a\""), JSON_STRING},
    {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\""), JSON_STRING},
    {TEXT("\"\\u0000\""), JSON_STRING},
    {TEXT("\"\\ud800\""), JSON_STRING},
    {TEXT("\"\\udc00\\ud800 \\ud83d\\ude00\""), JSON_STRING},
    {TEXT("\"\x7F\""), JSON_STRING},
    {TEXT("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""), JSON_STRING},
    {TEXT("\"a long text of more than eight bytes with an \\n escape in it\""), JSON_STRING},
    {TEXT("[]"), JSON_ARRAY},
    {TEXT("[ ]"), JSON_ARRAY},
    {TEXT("[1,[],{},\"\",null]"), JSON_ARRAY},
    {TEXT("[[],[[]]]"), JSON_ARRAY},
    {TEXT("{}"), JSON_OBJECT},
    {TEXT("{\"a\":1}"), JSON_OBJECT},
    {TEXT(" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \t\r\n"), JSON_OBJECT},
    {TEXT("{\"a\":{\"b\":[{\"c\":[]}]},\"a\":0}"), JSON_OBJECT},
};

static const struct {
    const char *text;
    size_t n;
    int error;
} refused[] = {
    {TEXT(""), JSON_ESYNTAX},
    {TEXT(" "), JSON_ESYNTAX},
    {TEXT("nul"), JSON_ESYNTAX},
    {TEXT("nulll"), JSON_ESYNTAX},
    {TEXT("True"), JSON_ESYNTAX},
    {TEXT("NaN"), JSON_ESYNTAX},
    {TEXT("Infinity"), JSON_ESYNTAX},
    {TEXT("-"), JSON_ESYNTAX},
    {TEXT("-Infinity"), JSON_ESYNTAX},
    {TEXT("+1"), JSON_ESYNTAX},
    {TEXT("01"), JSON_ESYNTAX},
    {TEXT("-01"), JSON_ESYNTAX},
    {TEXT("1."), JSON_ESYNTAX},
    {TEXT(".5"), JSON_ESYNTAX},
    {TEXT("1e"), JSON_ESYNTAX},
    {TEXT("1e+"), JSON_ESYNTAX},
    {TEXT("0x10"), JSON_ESYNTAX},
    {TEXT("1 2"), JSON_ESYNTAX},
    {TEXT("\""), JSON_ESYNTAX},
    {TEXT("\"abc"), JSON_ESYNTAX},
    {TEXT("\"\\"), JSON_ESYNTAX},
    {TEXT("\"\\\""), JSON_ESYNTAX},
    {TEXT("\"\\x\""), JSON_ESYNTAX},
    {TEXT("\"\\\0\""), JSON_ESYNTAX},
    {TEXT("\"\\u12\""), JSON_ESYNTAX},
    {TEXT("\"\\u12g4\""), JSON_ESYNTAX},
    {TEXT("\"\\U0041\""), JSON_ESYNTAX},
    {TEXT("\"\n\""), JSON_ESYNTAX},
    {TEXT("\"\0\""), JSON_ESYNTAX},
    {TEXT("\"tab\tin the middle of it\""), JSON_ESYNTAX},
    {TEXT("'a'"), JSON_ESYNTAX},
    {TEXT("["), JSON_ESYNTAX},
    {TEXT("[1"), JSON_ESYNTAX},
    {TEXT("[1,"), JSON_ESYNTAX},
    {TEXT("[1,]"), JSON_ESYNTAX},
    {TEXT("[,1]"), JSON_ESYNTAX},
    {TEXT("[1 2]"), JSON_ESYNTAX},
    {TEXT("[1}"), JSON_ESYNTAX},
    {TEXT("]"), JSON_ESYNTAX},
    {TEXT("[]]"), JSON_ESYNTAX},
    {TEXT("[\"a\":1]"), JSON_ESYNTAX},
    {TEXT("{"), JSON_ESYNTAX},
    {TEXT("{\"a\"}"), JSON_ESYNTAX},
    {TEXT("{\"a\":}"), JSON_ESYNTAX},
    {TEXT("{\"a\":1,}"), JSON_ESYNTAX},
    {TEXT("{\"a\" 1}"), JSON_ESYNTAX},
    {TEXT("{a:1}"), JSON_ESYNTAX},
    {TEXT("{1:1}"), JSON_ESYNTAX},
    {TEXT("{\"a\":1]"), JSON_ESYNTAX},
    {TEXT("{}{}"), JSON_ESYNTAX},
    {TEXT("{\"a\":1}x"), JSON_ESYNTAX},
    {TEXT("// c\n1"), JSON_ESYNTAX},
    {TEXT("\xEF\xBB\xBF{}"), JSON_ESYNTAX},
    {TEXT("\0"), JSON_ESYNTAX},
    {TEXT("\v1"), JSON_ESYNTAX},
    {TEXT("\"\x80\""), JSON_EUTF8},
    {TEXT("\"\xC0\xAF\""), JSON_EUTF8},
    {TEXT("\"\xED\xA0\x80\""), JSON_EUTF8},
    {TEXT("\"\xF4\x90\x80\x80\""), JSON_EUTF8},
    {TEXT("\"\xFF\""), JSON_EUTF8},
    {TEXT("\"cut \xE2\x82"), JSON_EUTF8},
    {TEXT("\"cut \xE2\x82\""), JSON_EUTF8},
    {TEXT("{\"\xFF\":1}"), JSON_EUTF8},
};

Test(json_text, valid_texts_are_accepted_and_their_kind_is_told)
{
    for (size_t i = 0; i < COUNT(accepted); i++) {
        enum json_kind kind = JSON_OBJECT + 1;
        cr_expect(eq(int, check(accepted[i].text, accepted[i].n, DEPTH, &kind), 0), "%s",
                  accepted[i].text);
        cr_expect(eq(int, (int)kind, (int)accepted[i].kind), "%s", accepted[i].text);
    }
}

Test(json_text, invalid_texts_are_refused_and_the_kind_is_left_alone)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        enum json_kind kind = JSON_OBJECT + 1;
        cr_expect(eq(int, check(refused[i].text, refused[i].n, DEPTH, &kind), refused[i].error),
                  "%zu: %s", i, refused[i].text);
        cr_expect(eq(int, (int)kind, JSON_OBJECT + 1));
    }
}

Test(json_text, every_proper_beginning_of_a_container_is_refused)
{
    static const char text[] =
        "{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\n\xC3\xA9\"], \"b\": {\"c\": []}}";
    enum json_kind kind;
    cr_assert(eq(int, check(text, sizeof text - 1, DEPTH, &kind), 0));
    for (size_t n = 0; n < sizeof text - 1; n++) {
        cr_expect(ne(int, check(text, n, DEPTH, &kind), 0), "%zu bytes", n);
    }
}

/* A special byte at every place of a word, at every distance from the end. */
Test(json_text, bad_bytes_are_seen_at_every_place_of_a_long_string)
{
    static const char bad[] = {'\n', '\x1F', '\0', '\x80', '\xFF'};
    for (size_t n = 1; n < 40; n++) {
        for (size_t at = 0; at < n; at++) {
            char text[42];
            memset(text, 'x', sizeof text);
            text[0] = text[n + 1] = '"';
            enum json_kind kind;
            cr_assert(eq(int, check(text, n + 2, 0, &kind), 0));
            for (size_t b = 0; b < sizeof bad; b++) {
                text[1 + at] = bad[b];
                cr_assert(ne(int, check(text, n + 2, 0, &kind), 0), "%zu of %zu", at, n);
            }
            text[1 + at] = '"'; /* ends the string early, unless it is the last */
            cr_assert(ne(int, check(text, n + 2, 0, &kind), 0), "%zu of %zu", at, n);
            text[1 + at] = '\\';
            cr_assert(ne(int, check(text, n + 2, 0, &kind), 0), "%zu of %zu", at, n);
        }
    }
}

static void put_times(struct buffer *buffer, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        buffer_put_text(buffer, text);
    }
}

Test(json_text, nesting_is_allowed_up_to_the_limit_and_not_beyond)
{
    static const unsigned limits[] = {1, 2, 63, 64, 65, 100, 128, 1023, JSON_DEPTH_LIMIT};
    for (size_t i = 0; i < COUNT(limits); i++) {
        for (unsigned depth = limits[i]; depth <= limits[i] + 1; depth++) {
            struct buffer buffer = BUFFER_INIT;
            /* Alternating kinds: each level's bit matters when it is closed. */
            for (unsigned level = 0; level < depth; level++) {
                buffer_put_text(&buffer, level % 3 == 0 ? "{\"k\":" : "[");
            }
            buffer_put_text(&buffer, "0");
            for (unsigned level = depth; level-- > 0;) {
                buffer_put_text(&buffer, level % 3 == 0 ? "}" : "]");
            }
            enum json_kind kind;
            int expected = depth <= limits[i] ? 0 : JSON_EDEPTH;
            cr_expect(eq(int, json_check(buffer_slice(&buffer), limits[i], &kind), expected));
            buffer_release(&buffer);
        }
    }
}

Test(json_text, a_million_brackets_neither_recurse_nor_crash)
{
    struct buffer buffer = BUFFER_INIT;
    put_times(&buffer, "[", 1000000);
    enum json_kind kind;
    cr_expect(eq(int, json_check(buffer_slice(&buffer), JSON_DEPTH_LIMIT, &kind), JSON_EDEPTH));
    buffer_clear(&buffer);
    put_times(&buffer, "{\"a\":", 1000000);
    cr_expect(eq(int, json_check(buffer_slice(&buffer), JSON_DEPTH_LIMIT, &kind), JSON_EDEPTH));
    buffer_release(&buffer);
}

Test(json_text, siblings_do_not_count_as_nesting)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_put_text(&buffer, "[");
    put_times(&buffer, "[],{},", 1000);
    buffer_put_text(&buffer, "0]");
    enum json_kind kind;
    cr_expect(eq(int, json_check(buffer_slice(&buffer), 2, &kind), 0));
    cr_expect(eq(int, json_check(buffer_slice(&buffer), 1, &kind), JSON_EDEPTH));
    buffer_release(&buffer);
}

static const char object[] = " { \"code\" : \"a\\\\\\\"}\" , "
                             "\"n\":-12.5e3,\"list\":[1,{\"x\":\"]\"},[]],\"t\":true,\"f\": false ,"
                             "\"nothing\":null,\"\":\"empty "
                             "key\",\"twice\":1,\"tw\\u0069ce\":2,\"sub\":{\"code\":\"inner\"}}  ";

Test(json_text, members_are_found_with_their_raw_text)
{
    static const struct {
        const char *key, *raw;
    } cases[] = {
        {"code", "\"a\\\\\\\"}\""},
        {"n", "-12.5e3"},
        {"list", "[1,{\"x\":\"]\"},[]]"},
        {"t", "true"},
        {"f", "false"},
        {"nothing", "null"},
        {"", "\"empty key\""},
        {"twice", "2"},
        {"sub", "{\"code\":\"inner\"}"},
    };
    enum json_kind kind;
    cr_assert(eq(int, json_check(slice_of(object), DEPTH, &kind), 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slice value;
        cr_assert(eq(int, json_object_find(slice_of(object), cases[i].key, &value), 0), "%s",
                  cases[i].key);
        cr_expect(slice_is(value, cases[i].raw), "%s", cases[i].key);
    }
}

Test(json_text, what_is_not_there_is_told_apart_from_what_is_no_object)
{
    struct slice value = slice_of("untouched");
    static const char *const absent[] = {"x", "cod", "codes", "inner", "code\""};
    for (size_t i = 0; i < COUNT(absent); i++) {
        cr_expect(eq(int, json_object_find(slice_of(object), absent[i], &value), JSON_ENOENT));
    }
    cr_expect(eq(int, json_object_find(slice_of("{}"), "x", &value), JSON_ENOENT));
    cr_expect(eq(int, json_object_find(slice_of("[]"), "x", &value), JSON_EKIND));
    cr_expect(eq(int, json_object_find(slice_of("null"), "x", &value), JSON_EKIND));
    cr_expect(
        eq(int, json_object_get_kind(slice_of(object), "code", JSON_ARRAY, &value), JSON_EKIND));
    cr_expect(
        eq(int, json_object_get_kind(slice_of(object), "x", JSON_ARRAY, &value), JSON_ENOENT));
    cr_expect(slice_is(value, "untouched"));
    cr_expect(eq(int, json_object_get_kind(slice_of(object), "list", JSON_ARRAY, &value), 0));
    cr_expect(slice_is(value, "[1,{\"x\":\"]\"},[]]"));
}

Test(json_text, booleans_have_defaults_and_refuse_other_kinds)
{
    static const struct {
        const char *key;
        bool otherwise;
        int error;
        bool value;
    } cases[] = {
        {"t", false, 0, true},       {"f", true, 0, false},         {"absent", true, 0, true},
        {"absent", false, 0, false}, {"nothing", true, 0, true},    {"nothing", false, 0, false},
        {"n", true, JSON_EKIND, 0},  {"code", true, JSON_EKIND, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool value;
        int error =
            json_object_get_bool(slice_of(object), cases[i].key, cases[i].otherwise, &value);
        cr_assert(eq(int, error, cases[i].error), "%s", cases[i].key);
        if (error == 0) {
            cr_expect(eq(int, value, cases[i].value), "%s", cases[i].key);
        }
    }
    bool value;
    cr_expect(eq(int, json_object_get_bool(slice_of("7"), "t", true, &value), JSON_EKIND));
}

Test(json_text, walk_shows_all_members_in_order)
{
    static const char *const keys[] = {"\"code\"",        "\"n\"",       "\"list\"", "\"t\"",
                                       "\"f\"",           "\"nothing\"", "\"\"",     "\"twice\"",
                                       "\"tw\\u0069ce\"", "\"sub\""};
    size_t at = 0, count = 0;
    struct slice key, value;
    while (json_object_next(slice_of(object), &at, &key, &value)) {
        cr_assert(lt(sz, count, COUNT(keys)));
        cr_expect(slice_is(key, keys[count]), "member %zu", count);
        count++;
    }
    cr_expect(eq(sz, count, COUNT(keys)));
    at = 0;
    cr_expect(not(json_object_next(slice_of("{ }"), &at, &key, &value)));
    at = 0;
    cr_expect(not(json_object_next(slice_of("[1]"), &at, &key, &value)));
}

static const struct {
    const char *raw, *text;
    size_t n;
} strings[] = {
    {"\"\"", TEXT("")},
    {"\"plain\"", TEXT("plain")},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", TEXT("\"\\/\b\f\n\r\t")},
    {"\"\\u0041\\u00e9\\u20AC\"", TEXT("A\xC3\xA9\xE2\x82\xAC")},
    {"\"x\\u0000y\"", TEXT("x\0y")},
    {"\"\\ud83d\\ude00\"", TEXT("\xF0\x9F\x98\x80")},
    {"\"\\uDBFF\\uDFFF\"", TEXT("\xF4\x8F\xBF\xBF")},
    {"\"\\ud800\"", TEXT("\xED\xA0\x80")},
    {"\"\\ud800x\"", TEXT("\xED\xA0\x80x")},
    {"\"\\ud800\\n\"", TEXT("\xED\xA0\x80\n")},
    {"\"\\ud800\\ud83d\\ude00\"", TEXT("\xED\xA0\x80\xF0\x9F\x98\x80")},
    {"\"\\ude00\\ud83d\"", TEXT("\xED\xB8\x80\xED\xA0\xBD")},
    {"\"\xC3\xA9\\u00e9\"", TEXT("\xC3\xA9\xC3\xA9")},
    {"\"a\\\\\"", TEXT("a\\")},
};

Test(json_text, decoded_strings_say_what_the_escapes_mean)
{
    for (size_t i = 0; i < COUNT(strings); i++) {
        struct buffer buffer = BUFFER_INIT;
        json_string_decode(slice_of(strings[i].raw), &buffer);
        struct slice expected = {(const uint8_t *)strings[i].text, strings[i].n};
        cr_expect(slice_equal(buffer_slice(&buffer), expected), "%s", strings[i].raw);
        buffer_release(&buffer);
    }
}

Test(json_text, string_is_agrees_with_decode)
{
    for (size_t i = 0; i < COUNT(strings); i++) {
        for (size_t k = 0; k < COUNT(strings); k++) {
            if (strlen(strings[k].text) != strings[k].n) {
                continue; /* no C string says a NUL */
            }
            bool same = i == k;
            cr_expect(eq(int, json_string_is(slice_of(strings[i].raw), strings[k].text), same),
                      "%s and %s", strings[i].raw, strings[k].text);
        }
    }
    cr_expect(not(json_string_is(slice_of("\"ab\""), "a")));
    cr_expect(not(json_string_is(slice_of("\"a\""), "ab")));
    cr_expect(not(json_string_is(slice_of("\"a\\u0000\""), "a")));
}

#define R "\xEF\xBF\xBD"

Test(json_text, written_strings_escape_what_must_be_and_nothing_else)
{
    static const struct {
        const char *text;
        size_t n;
        const char *raw;
    } cases[] = {
        {TEXT(""), "\"\""},
        {TEXT("a/b<>&'\x7F"), "\"a/b<>&'\x7F\""},
        {TEXT("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {TEXT("\0\x01\x0B\x1B\x1F"), "\"\\u0000\\u0001\\u000b\\u001b\\u001f\""},
        {TEXT("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x80\xA8"),
         "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x80\xA8\""},
        {TEXT("a\xFFz"), "\"a" R "z\""},
        {TEXT("\xED\xA0\x80"), "\"" R R R "\""},
        {TEXT("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\"" R R R R "A\""},
        {TEXT("cut \xF0\x9F\x98"), "\"cut " R "\""},
        {TEXT("cut\n\xC3"), "\"cut\\n" R "\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buffer buffer = BUFFER_INIT;
        json_put_string(&buffer, (struct slice){(const uint8_t *)cases[i].text, cases[i].n});
        cr_expect(slice_is(buffer_slice(&buffer), cases[i].raw), "case %zu", i);
        enum json_kind kind;
        cr_expect(eq(int, json_check(buffer_slice(&buffer), 0, &kind), 0), "case %zu", i);
        buffer_release(&buffer);
    }
}

Test(json_text, every_error_has_a_text_of_its_own)
{
    for (int a = JSON_ESYNTAX; a >= JSON_ENOENT; a--) {
        cr_expect(strcmp(json_error_text(a), "unknown error") != 0);
        for (int b = JSON_ESYNTAX; b > a; b--) {
            cr_expect(strcmp(json_error_text(a), json_error_text(b)) != 0);
        }
    }
}
