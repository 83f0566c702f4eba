/*
 * Fuzz target: any bytes as JSON text, and as text to be written as JSON.
 *
 * What json_check accepts must be walked without harm, and strings must come
 * back the same after decode and put; whatever json_put_string makes must be
 * accepted. Pieces of a text must decode as the whole does.
 */

#include <stdint.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "bridge/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { DEPTH = 100 };

/* What a string says, written again, says the same, lone surrogates aside. */
static void try_string(struct slice raw)
{
    struct buffer text = BUFFER_INIT, again = BUFFER_INIT, back = BUFFER_INIT;
    json_string_decode(raw, &text);
    CHECK(text.n <= raw.n);
    json_put_string(&again, buffer_slice(&text));
    enum json_kind kind;
    CHECK(json_check(buffer_slice(&again), 0, &kind) == 0 && kind == JSON_STRING);
    json_string_decode(buffer_slice(&again), &back);
    if (utf8_valid(buffer_slice(&text)) == text.n) {
        CHECK(slice_equal(buffer_slice(&back), buffer_slice(&text)));
    }
    buffer_put_char(&text, '\0');
    bool plain = strlen((const char *)text.p) == text.n - 1;
    CHECK(json_string_is(raw, (const char *)text.p) == plain);
    buffer_release(&text);
    buffer_release(&again);
    buffer_release(&back);
}

static void try_object(struct slice object)
{
    size_t at = 0;
    struct slice key, value;
    while (json_object_next(object, &at, &key, &value)) {
        enum json_kind kind;
        CHECK(json_check(key, 0, &kind) == 0 && kind == JSON_STRING);
        CHECK(json_check(value, DEPTH, &kind) == 0);
        try_string(key);
        if (kind == JSON_STRING) {
            try_string(value);
        }
    }
    bool flag;
    (void)json_object_find(object, "code", &value);
    (void)json_object_get_kind(object, "a", JSON_STRING, &value);
    (void)json_object_get_bool(object, "silent", true, &flag);
}

/* Cut into pieces of every small size, a text decodes as it does whole. */
static void try_pieces(struct slice text)
{
    struct buffer whole = BUFFER_INIT, pieces = BUFFER_INIT;
    struct utf8_decoder decoder = {0};
    utf8_decode(&decoder, text, &whole);
    utf8_finish(&decoder, &whole);
    CHECK(utf8_valid(buffer_slice(&whole)) == whole.n);
    for (size_t size = 1; size <= 5; size++) {
        buffer_clear(&pieces);
        for (size_t at = 0; at < text.n; at += size) {
            size_t left = text.n - at;
            utf8_decode(&decoder, (struct slice){text.p + at, left < size ? left : size}, &pieces);
        }
        utf8_finish(&decoder, &pieces);
        CHECK(slice_equal(buffer_slice(&pieces), buffer_slice(&whole)));
    }
    size_t count = utf8_count(buffer_slice(&whole));
    CHECK(utf8_prefix(buffer_slice(&whole), count) == whole.n);
    CHECK(utf8_suffix(buffer_slice(&whole), count) == 0);
    CHECK(utf8_prefix(buffer_slice(&whole), count / 3) ==
          utf8_suffix(buffer_slice(&whole), count - count / 3));
    buffer_release(&whole);
    buffer_release(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slice text = {data, n};
    enum json_kind kind;
    if (json_check(text, DEPTH, &kind) == 0) {
        CHECK(json_kind_of(text) == kind);
        CHECK(utf8_valid(text) == n);
        if (kind == JSON_OBJECT) {
            try_object(text);
        }
    }
    struct buffer written = BUFFER_INIT;
    json_put_string(&written, text);
    CHECK(json_check(buffer_slice(&written), 0, &kind) == 0 && kind == JSON_STRING);
    try_string(buffer_slice(&written));
    buffer_release(&written);
    try_pieces(text);
    return 0;
}
