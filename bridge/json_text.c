/*
 * JSON as text: finding members, undoing and making strings.
 *
 * Both processes use it. What is read here passed json_check before, so the
 * readers only look for ends: a string ends at a quote with an even number of
 * backslashes before it, a container where its brackets are even. Still no
 * read goes past the slice, whatever it holds. Owns nothing.
 */

#include "bridge/json_text.h"

#include "bridge/json_scan.h"
#include <stdlib.h>

#include "bridge/check.h"
#include "bridge/utf8.h"

const char *json_error_text(int error)
{
    switch ((enum json_error)error) {
    case JSON_ESYNTAX:
        return "not valid JSON";
    case JSON_EDEPTH:
        return "nested too deeply";
    case JSON_EUTF8:
        return "not valid UTF-8";
    case JSON_EKIND:
        return "of the wrong type";
    case JSON_ENOENT:
        return "missing";
    }
    return "unknown error";
}

enum json_kind json_kind_of(struct slice value)
{
    const uint8_t *end = value.p + value.n;
    const uint8_t *p = json_skip_space(value.p, end);
    CHECK(p < end);
    switch (*p) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

/* ---- members --------------------------------------------------------------- */

/* At an opening quote. -> behind the closing one. */
static const uint8_t *skip_string(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *body = p + 1;
    for (p = body; p < end; p++) {
        p = memchr(p, '"', (size_t)(end - p));
        if (p == NULL) {
            return end;
        }
        const uint8_t *before = p;
        while (before > body && before[-1] == '\\') {
            before--;
        }
        if ((p - before) % 2 == 0) {
            return p + 1;
        }
    }
    return end;
}

/* At an opening bracket. -> behind the one that closes it. */
static const uint8_t *skip_container(const uint8_t *p, const uint8_t *end)
{
    size_t depth = 0;
    while (p < end) {
        uint8_t c = *p;
        if (c == '"') {
            p = skip_string(p, end);
            continue;
        }
        p++;
        if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            break;
        }
    }
    return p;
}

/* At a value. -> behind it. */
static const uint8_t *skip_value(const uint8_t *p, const uint8_t *end)
{
    if (p == end) {
        return end;
    }
    if (*p == '"') {
        return skip_string(p, end);
    }
    if (*p == '{' || *p == '[') {
        return skip_container(p, end);
    }
    while (p<end && * p> ' ' && *p != ',' && *p != '}' && *p != ']') {
        p++;
    }
    return p;
}

bool json_object_next(struct slice object, size_t *at, struct slice *ret_key,
                      struct slice *ret_value)
{
    const uint8_t *end = object.p + object.n;
    const uint8_t *p = json_skip_space(object.p + *at, end);
    /* Before the first member stands the brace, before the others a comma. */
    if (p == end || *p != (*at == 0 ? '{' : ',')) {
        return false;
    }
    p = json_skip_space(p + 1, end);
    if (p == end || *p != '"') {
        return false;
    }
    const uint8_t *key = p;
    p = skip_string(p, end);
    struct slice found = {key, (size_t)(p - key)};

    p = json_skip_space(p, end);
    p = json_skip_space(p < end ? p + 1 : p, end); /* the colon */
    const uint8_t *value = p;
    p = skip_value(p, end);
    *ret_key = found;
    *ret_value = (struct slice){value, (size_t)(p - value)};
    *at = (size_t)(p - object.p);
    return true;
}

bool json_array_next(struct slice array, size_t *at, struct slice *ret_value)
{
    const uint8_t *end = array.p + array.n;
    const uint8_t *p = json_skip_space(array.p + *at, end);
    if (p == end || *p != (*at == 0 ? '[' : ',')) {
        return false;
    }
    p = json_skip_space(p + 1, end);
    const uint8_t *value = p;
    p = skip_value(p, end);
    *ret_value = (struct slice){value, (size_t)(p - value)};
    *at = (size_t)(p - array.p);
    return ret_value->n > 0;
}

int json_object_find(struct slice object, const char *key, struct slice *ret_value)
{
    if (json_kind_of(object) != JSON_OBJECT) {
        return JSON_EKIND;
    }
    int result = JSON_ENOENT;
    size_t at = 0;
    struct slice name, value;
    while (json_object_next(object, &at, &name, &value)) {
        if (json_string_is(name, key)) {
            *ret_value = value;
            result = 0;
        }
    }
    return result;
}

int json_object_get_kind(struct slice object, const char *key, enum json_kind kind,
                         struct slice *ret_value)
{
    struct slice value;
    int error = json_object_find(object, key, &value);
    if (error != 0) {
        return error;
    }
    if (json_kind_of(value) != kind) {
        return JSON_EKIND;
    }
    *ret_value = value;
    return 0;
}

int json_object_get_bool(struct slice object, const char *key, bool otherwise, bool *ret_value)
{
    struct slice value;
    int error = json_object_find(object, key, &value);
    if (error == JSON_ENOENT) {
        *ret_value = otherwise;
        return 0;
    }
    if (error != 0) {
        return error;
    }
    enum json_kind kind = json_kind_of(value);
    if (kind != JSON_TRUE && kind != JSON_FALSE && kind != JSON_NULL) {
        return JSON_EKIND;
    }
    *ret_value = kind == JSON_NULL ? otherwise : kind == JSON_TRUE;
    return 0;
}

int json_object_get_int(struct slice object, const char *key, int64_t otherwise, int64_t *ret_value)
{
    struct slice raw;
    int error = json_object_find(object, key, &raw);
    if (error == JSON_ENOENT || (error == 0 && json_kind_of(raw) == JSON_NULL)) {
        *ret_value = otherwise;
        return 0;
    }
    if (error != 0) {
        return error;
    }
    char text[64];
    if (json_kind_of(raw) != JSON_NUMBER || raw.n >= sizeof text) {
        return JSON_EKIND;
    }
    memcpy(text, raw.p, raw.n);
    text[raw.n] = '\0';
    if (strpbrk(text, ".eE") == NULL) {
        *ret_value = strtoll(text, NULL, 10); /* it stops at the ends by itself */
        return 0;
    }
    double value = strtod(text, NULL);
    if (!(value > -9e15 && value < 9e15) || value != (double)(int64_t)value) {
        return JSON_EKIND;
    }
    *ret_value = (int64_t)value;
    return 0;
}

/* ---- strings, read --------------------------------------------------------- */

/* What stands behind "\u" at p, as a number; -1: nothing of the kind. */
static int32_t escaped_unit(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        unit = unit << 4 | (json_hex(p[i]) & 0xF);
    }
    return unit;
}

/* UTF-8's scheme, for surrogates too. -> bytes of it. */
static size_t encode(uint32_t point, uint8_t ret_bytes[4])
{
    if (point < 0x80) {
        ret_bytes[0] = (uint8_t)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i > 0; i--) {
        ret_bytes[i] = (uint8_t)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    ret_bytes[0] = (uint8_t)(lead[n] | point);
    return n;
}

/* At a backslash: undoes one escape, or the two of a surrogate pair. -> behind it. */
static const uint8_t *undo_escape(const uint8_t *p, const uint8_t *end, uint8_t ret_bytes[4],
                                  size_t *ret_n)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    int32_t unit = escaped_unit(p, end);
    if (unit >= 0) {
        p += 6;
        int32_t next = unit >= 0xD800 && unit <= 0xDBFF ? escaped_unit(p, end) : -1;
        if (next >= 0xDC00 && next <= 0xDFFF) {
            unit = 0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00);
            p += 6;
        }
        *ret_n = encode((uint32_t)unit, ret_bytes);
        return p;
    }
    if (end - p < 2) {
        *ret_n = 0;
        return end;
    }
    const char *letter = memchr(letters, p[1], sizeof letters - 1);
    ret_bytes[0] = letter != NULL ? (uint8_t)meanings[letter - letters] : p[1];
    *ret_n = 1;
    return p + 2;
}

/*
 * The next piece of a string's body: a run up to an escape, straight from the
 * text, or what an escape says, in `bytes`. -> behind it.
 */
static const uint8_t *next_piece(const uint8_t *p, const uint8_t *end, uint8_t bytes[4],
                                 struct slice *ret_piece)
{
    const uint8_t *backslash = memchr(p, '\\', (size_t)(end - p));
    if (backslash == p) {
        p = undo_escape(p, end, bytes, &ret_piece->n);
        ret_piece->p = bytes;
        return p;
    }
    const uint8_t *stop = backslash != NULL ? backslash : end;
    *ret_piece = (struct slice){p, (size_t)(stop - p)};
    return stop;
}

void json_string_decode(struct slice raw, struct buffer *buffer)
{
    CHECK(raw.n >= 2);
    const uint8_t *p = raw.p + 1, *end = raw.p + raw.n - 1;
    buffer_reserve(buffer, raw.n); /* no escape says more bytes than it takes */
    while (p < end) {
        uint8_t bytes[4];
        struct slice piece;
        p = next_piece(p, end, bytes, &piece);
        buffer_put_slice(buffer, piece);
    }
}

bool json_string_is(struct slice raw, const char *text)
{
    CHECK(raw.n >= 2);
    const uint8_t *p = raw.p + 1, *end = raw.p + raw.n - 1;
    struct slice rest = slice_of(text);
    while (p < end) {
        uint8_t bytes[4];
        struct slice piece;
        p = next_piece(p, end, bytes, &piece);
        if (piece.n > rest.n || memcmp(piece.p, rest.p, piece.n) != 0) {
            return false;
        }
        rest = (struct slice){rest.p + piece.n, rest.n - piece.n};
    }
    return rest.n == 0;
}

/* ---- strings, written ------------------------------------------------------ */

/* A character that may not stand in a string as it is. */
static void put_escape(struct buffer *buffer, uint8_t c)
{
    static const char hex[] = "0123456789abcdef";
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = memchr(plain, c, sizeof plain - 1);
    if (found != NULL) {
        const char pair[] = {'\\', letters[found - plain]};
        buffer_put(buffer, pair, sizeof pair);
    } else {
        const char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 0xF]};
        buffer_put(buffer, escape, sizeof escape);
    }
}

void json_put_string(struct buffer *buffer, struct slice utf8)
{
    const uint8_t *p = utf8.p, *end = utf8.p + utf8.n;
    buffer_reserve(buffer, utf8.n + 2);
    buffer_put_char(buffer, '"');
    while (p < end) {
        const uint8_t *stop = json_run(p, end);
        buffer_put(buffer, p, (size_t)(stop - p));
        p = stop;
        if (p == end) {
            break;
        }
        if (*p < 0x80) {
            put_escape(buffer, *p++);
            continue;
        }
        int n = utf8_sequence((struct slice){p, (size_t)(end - p)});
        buffer_put_text(buffer, "\xEF\xBF\xBD"); /* U+FFFD */
        p = n < 0 ? p - n : end;                 /* 0: what is left is the one bad sequence */
    }
    buffer_put_char(buffer, '"');
}
