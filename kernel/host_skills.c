/*
 * Skill events of a worker. Part of libeinkorn-host; runs on the thread that has
 * the turn. What a worker sends is a stranger's: bounded, and whatever is not as
 * it must be makes the generation one that cannot be recovered. Owns its buffers.
 */

#include "kernel/host_skills.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/xalloc.h"
#include "kernel/host_frame.h"

enum { HMAC_BLOCK = 64, DEPTH_MAX = 32 };

static const char mac_key[] = "attestation_mac";

/* ---- one way to write a value ------------------------------------------------------------ */

struct member {
    struct buffer key; /* as UTF-8, whose order is that of the code points */
    struct slice value;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *one = a, *other = b;
    size_t n = one->key.n < other->key.n ? one->key.n : other->key.n;
    int order = n > 0 ? memcmp(one->key.p, other->key.p, n) : 0;

    return order != 0 ? order : (one->key.n > other->key.n) - (one->key.n < other->key.n);
}

static bool put_canonical(struct buffer *out, struct slice value, unsigned depth);

static bool put_array(struct buffer *out, struct slice array, unsigned depth)
{
    char before = '[';
    struct slice item;
    size_t at = 0;
    bool good = true;

    while (good && json_array_next(array, &at, &item)) {
        buffer_put_char(out, before);
        before = ',';
        good = put_canonical(out, item, depth + 1);
    }
    buffer_put_text(out, before == '[' ? "[]" : "]");
    return good;
}

static size_t count_members(struct slice object)
{
    struct slice key, value;
    size_t n = 0, at = 0;

    while (json_object_next(object, &at, &key, &value)) {
        n++;
    }
    return n;
}

/* The members but the signature, which is the outermost object's. */
static struct member *sorted_members(struct slice object, unsigned depth, size_t *ret_n)
{
    struct member *members = xcalloc(count_members(object) + 1, sizeof *members);
    struct slice key, value;
    size_t n = 0, at = 0;

    while (json_object_next(object, &at, &key, &value)) {
        if (depth > 0 || !json_string_is(key, mac_key)) {
            json_string_decode(key, &members[n].key);
            members[n++].value = value;
        }
    }
    qsort(members, n, sizeof *members, compare_members);
    *ret_n = n;
    return members;
}

static bool put_object(struct buffer *out, struct slice object, unsigned depth)
{
    size_t n;
    struct member *members = sorted_members(object, depth, &n);
    bool good = true;

    buffer_put_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            buffer_put_char(out, ',');
        }
        json_put_string(out, buffer_slice(&members[i].key));
        buffer_put_char(out, ':');
        good = good && put_canonical(out, members[i].value, depth + 1);
        buffer_release(&members[i].key);
    }
    buffer_put_char(out, '}');
    free(members);
    return good;
}

/* -> false: nobody writes events like that. A number is written as it came. */
static bool put_canonical(struct buffer *out, struct slice value, unsigned depth)
{
    struct buffer text = BUFFER_INIT;

    if (depth > DEPTH_MAX) {
        return false;
    }
    switch (json_kind_of(value)) {
    case JSON_OBJECT:
        return put_object(out, value, depth);
    case JSON_ARRAY:
        return put_array(out, value, depth);
    case JSON_STRING:
        json_string_decode(value, &text);
        json_put_string(out, buffer_slice(&text)); /* a lone surrogate: another text, no match */
        buffer_release(&text);
        return true;
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER:
        break;
    }
    buffer_put_slice(out, value);
    return true;
}

/* ---- the signature -------------------------------------------------------------------------- */

/* One of the two rounds of RFC 2104. */
static void hash_round(const uint8_t key[SHA256_BYTES], uint8_t pad, struct slice data,
                       uint8_t ret_digest[SHA256_BYTES])
{
    struct buffer all = BUFFER_INIT;

    buffer_reserve(&all, HMAC_BLOCK + data.n);
    for (size_t i = 0; i < HMAC_BLOCK; i++) {
        buffer_put_char(&all, (char)((i < SHA256_BYTES ? key[i] : 0) ^ pad));
    }
    buffer_put_slice(&all, data);
    sha256(buffer_slice(&all), ret_digest);
    buffer_release(&all);
}

static bool is_signed(const struct host_skills *self, struct slice event)
{
    static const char digit[] = "0123456789abcdef";
    uint8_t inner[SHA256_BYTES], outer[SHA256_BYTES];
    char expected[2 * SHA256_BYTES + 1] = "";
    struct buffer text = BUFFER_INIT;
    struct slice mac;
    bool good = json_object_get_kind(event, mac_key, JSON_STRING, &mac) == 0 &&
                put_canonical(&text, event, 0);

    if (good) {
        hash_round(self->key, 0x36, buffer_slice(&text), inner);
        hash_round(self->key, 0x5C, (struct slice){inner, sizeof inner}, outer);
        for (size_t i = 0; i < SHA256_BYTES; i++) {
            expected[2 * i] = digit[outer[i] >> 4];
            expected[2 * i + 1] = digit[outer[i] & 15];
        }
        good = json_string_is(mac, expected);
    }
    buffer_release(&text);
    return good;
}

/* ---- events ------------------------------------------------------------------------------ */

/* What fits into `size` with a NUL. -> false: it is no string, or it does not. */
static bool read_text(struct slice event, const char *key, char *ret_text, size_t size)
{
    struct buffer text = BUFFER_INIT;
    struct slice raw;
    bool good = json_object_get_kind(event, key, JSON_STRING, &raw) == 0;

    if (good) {
        json_string_decode(raw, &text);
        good = text.n > 0 && text.n < size && !memchr(text.p, '\0', text.n);
    }
    if (good) {
        memcpy(ret_text, text.p, text.n);
        ret_text[text.n] = '\0';
    }
    buffer_release(&text);
    return good;
}

/* -> true: its place among those that are announced. */
static bool find_open(const struct host_skills *self, const char *id, size_t *ret_at)
{
    for (size_t i = 0; i < self->open_count; i++) {
        if (strcmp(self->open[i].id, id) == 0) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

/* It has been compiled and is not run yet. */
static bool announce(struct host_skills *self, struct slice event, const char *id)
{
    size_t at = self->open_count;

    if (at == HOST_SKILL_OPEN || find_open(self, id, &at) ||
        !read_text(event, "sha256", self->open[at].source, sizeof self->open[at].source)) {
        return false;
    }
    memcpy(self->open[at].id, id, strlen(id) + 1);
    self->open_count++;
    return true;
}

/* It has run: what was announced under that name. */
static bool complete(struct host_skills *self, struct slice event, const char *id)
{
    char source[sizeof self->open[0].source];
    size_t at;

    if (!find_open(self, id, &at) || !read_text(event, "sha256", source, sizeof source) ||
        strcmp(source, self->open[at].source) != 0) {
        return false;
    }
    self->open[at] = self->open[--self->open_count];
    return true;
}

static void put_load(struct host_skills *self, struct slice event)
{
    buffer_put_char(&self->loads, self->loads.n > 0 ? ',' : '[');
    buffer_put_slice(&self->loads, event);
    self->count++;
}

/* -> false: it is not as it must be, or the worker itself says so. */
static bool take(struct host_skills *self, struct slice event)
{
    char name[64], id[HOST_SKILL_ID + 1];

    if (json_kind_of(event) != JSON_OBJECT || !is_signed(self, event) ||
        !read_text(event, "event", name, sizeof name) ||
        !read_text(event, "attestation_id", id, sizeof id)) {
        return false;
    }
    if (strcmp(name, "sidecar_capture_started") == 0) {
        return announce(self, event, id);
    }
    if (self->count == HOST_SKILL_LOADS || self->loads.n + event.n >= HOST_SKILL_LOADS_BYTES ||
        !complete(self, event, id)) {
        return false;
    }
    put_load(self, event);
    return true;
}

void host_skills_take(struct host_skills *self, struct slice event)
{
    if (!take(self, event)) {
        self->broken = true;
        if (self->count < HOST_SKILL_LOADS) {
            put_load(self, slice_of("{\"event\":\"invalid_sidecar_event\"}"));
        }
    }
}

struct host_text host_skills_end_cell(struct host_skills *self)
{
    struct host_text loads = {NULL, 0};

    self->broken = self->broken || self->open_count > 0;
    self->open_count = 0;
    if (self->loads.n > 0) {
        buffer_put_char(&self->loads, ']');
        loads = host_text_of(buffer_slice(&self->loads));
    }
    buffer_release(&self->loads);
    self->count = 0;
    return loads;
}

/* ---- a worker ---------------------------------------------------------------------------- */

static uint8_t value_of(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

void host_skills_begin(struct host_skills *self, const char *key)
{
    host_skills_release(self);
    for (size_t i = 0; i < sizeof self->key; i++) {
        self->key[i] = (uint8_t)(value_of(key[2 * i]) << 4 | value_of(key[2 * i + 1]));
    }
}

void host_skills_release(struct host_skills *self)
{
    buffer_release(&self->loads);
    *self = (struct host_skills){.loads = BUFFER_INIT};
}
