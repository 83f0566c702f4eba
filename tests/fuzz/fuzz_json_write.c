/*
 * Fuzz target: any bytes as texts that are written as JSON.
 *
 * The bytes are texts, each after its length in two bytes, low byte first, put
 * into an object as a key and a value in turn. It must be JSON of nothing but
 * UTF-8, and say what the texts say, their bad bytes replaced.
 */

#include <stdint.h>
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "bridge/utf8.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MEMBERS_MAX = 16 };

struct member {
    struct buffer key, value; /* as they must come back */
};

/* Writes the next text, and says in other words what it must be read as. */
static void put_text(struct slice *input, struct buffer *json, struct buffer *ret_meant)
{
    struct slice text = take_text(input);
    struct utf8_decoder decoder = {0};
    json_put_string(json, text);
    utf8_decode(&decoder, text, ret_meant);
    utf8_finish(&decoder, ret_meant);
}

static size_t put_object(struct slice *input, struct buffer *json, struct member *member)
{
    size_t count = 0;
    buffer_put_char(json, '{');
    while (input->n > 0 && count < MEMBERS_MAX) {
        if (count > 0) {
            buffer_put_char(json, ',');
        }
        put_text(input, json, &member[count].key);
        buffer_put_char(json, ':');
        put_text(input, json, &member[count].value);
        count++;
    }
    buffer_put_char(json, '}');
    return count;
}

static void check_text(struct slice raw, const struct buffer *meant)
{
    struct buffer text = BUFFER_INIT;
    json_string_decode(raw, &text);
    CHECK(slice_equal(buffer_slice(&text), buffer_slice(meant)));
    buffer_release(&text);
}

/* A key that stands twice has the last value; keys with a NUL cannot be asked for. */
static void check_find(struct slice json, struct member *member, size_t count, size_t i)
{
    size_t last = i;
    struct slice value;
    for (size_t j = i; j < count; j++) {
        if (slice_equal(buffer_slice(&member[j].key), buffer_slice(&member[i].key))) {
            last = j;
        }
    }
    buffer_put_char(&member[i].key, '\0');
    const char *key = (const char *)member[i].key.p;
    member[i].key.n--;
    if (strlen(key) == member[i].key.n) {
        CHECK(json_object_get_kind(json, key, JSON_STRING, &value) == 0);
        check_text(value, &member[last].value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct member member[MEMBERS_MAX] = {0};
    struct slice input = {data, n};
    struct buffer json = BUFFER_INIT;
    size_t count = put_object(&input, &json, member), at = 0;
    struct slice text = buffer_slice(&json), key, value;
    enum json_kind kind;
    CHECK(json_check(text, 1, &kind) == 0 && kind == JSON_OBJECT);
    CHECK(utf8_valid(text) == text.n);
    for (size_t i = 0; i < count; i++) {
        CHECK(json_object_next(text, &at, &key, &value));
        check_text(key, &member[i].key);
        check_text(value, &member[i].value);
        check_find(text, member, count, i);
    }
    CHECK(!json_object_next(text, &at, &key, &value));
    for (size_t i = 0; i < count; i++) {
        buffer_release(&member[i].key);
        buffer_release(&member[i].value);
    }
    buffer_release(&json);
    return 0;
}
