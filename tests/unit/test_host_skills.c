/* kernel/host_skills.c: which events of a worker hold, and what they add up to. */

#include "kernel/host_skills.h"

#include <sodium.h>
#include <string.h>

#include "kernel/host_frame.h"
#include "tests/unit/host_fixture.h"

#define KEY    "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
#define SOURCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define STARTED(id)                                                                                \
    "{\"attestation_id\":\"" id "\",\"event\":\"sidecar_capture_started\",\"sha256\":\"" SOURCE    \
    "\"}"
#define LOADED(id)                                                                                 \
    "{\"attestation_id\":\"" id "\",\"event\":\"sidecar_loaded\",\"sha256\":\"" SOURCE "\"}"
#define INVALID "{\"event\":\"invalid_sidecar_event\"}"

/* Takes `event`, an object, with the signature of the text `canonical` as its first member. */
static void take_as(struct host_skills *self, const char *canonical, const char *event)
{
    uint8_t key[32], mac[crypto_auth_hmacsha256_BYTES];
    char hex[2 * sizeof mac + 1];
    struct buffer text = BUFFER_INIT;

    memset(key, 0x5A, sizeof key);
    (void)crypto_auth_hmacsha256(mac, (const uint8_t *)canonical, strlen(canonical), key);
    (void)sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    buffer_printf(&text, "{\"attestation_mac\": \"%s\"%s%s", hex, event[1] == '}' ? "" : ", ",
                  event + 1);
    host_skills_take(self, buffer_slice(&text));
    buffer_release(&text);
}

static void take(struct host_skills *self, const char *canonical)
{
    take_as(self, canonical, canonical);
}

/* The list of a cell without its signatures. */
static void expect_end(struct host_skills *self, const char *expected)
{
    struct host_text loads = host_skills_end_cell(self);
    char *mac, *text = strdup(loads.p ? loads.p : "none");

    while ((mac = strstr(text, "\"attestation_mac\""))) {
        memmove(mac, mac + 87, strlen(mac + 87) + 1);
    }
    cr_expect_str_eq(text, expected);
    free(text);
    host_text_release(&loads);
}

static void begin(struct host_skills *self)
{
    memset(self, 0, sizeof *self);
    host_skills_begin(self, KEY);
}

Test(host_skills, what_was_announced_and_has_run_is_told)
{
    struct host_skills skills;

    begin(&skills);
    expect_end(&skills, "none");
    take(&skills, STARTED("a"));
    take(&skills, STARTED("b"));
    take(&skills, LOADED("b"));
    take(&skills, LOADED("a"));
    expect_end(&skills, "[" LOADED("b") "," LOADED("a") "]");
    expect_end(&skills, "none");
    cr_expect_not(skills.broken);
    host_skills_release(&skills);
}

Test(host_skills, an_event_is_signed_as_python_writes_it)
{
    static const struct {
        const char *canonical, *event;
    } rows[] = {
        {"{\"attestation_id\":\"a\",\"event\":\"e\",\"n\":{\"\":[],\"a\":{\"b\":1,\"c\":[1.5,{"
         "\"x\":"
         "null,\"y\":true}]},\"\xc3\xa9\":{}},\"sha256\":\"" SOURCE "\"}",
         "{\"sha256\": \"" SOURCE
         "\", \"n\" : {\"\xc3\xa9\": {}, \"a\": {\"c\": [1.5 , {\"y\": true, "
         "\"x\": null}], \"b\": 1}, \"\": [ ]}, \"event\": \"e\", \"attestation_id\": \"a\"}"},
        {"{\"attestation_id\":\"a\",\"event\":\"e\",\"s\":\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/"
         "\x7f\xf0\x9f"
         "\x98\x80\",\"sha256\":\"" SOURCE "\"}",
         "{\"attestation_id\":\"a\",\"event\":\"e\",\"s\":\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\/"
         "\\u007f"
         "\\ud83d\\ude00\",\"sha256\":\"" SOURCE "\"}"},
        {"{\"attestation_id\":\"a\",\"event\":\"e\",\"f\":[NaN,-Infinity,1e+300],\"sha256\":"
         "\"" SOURCE "\",\"x\":{\"attestation_mac\":1}}",
         "{\"attestation_id\":\"a\",\"event\":\"e\",\"f\":[NaN,-Infinity,1e+300],\"sha256\":"
         "\"" SOURCE "\",\"x\":{\"attestation_mac\":1}}"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_skills skills;
        struct host_text loads;

        begin(&skills);
        take(&skills, STARTED("a"));
        take_as(&skills, rows[i].canonical, rows[i].event);
        cr_expect_not(skills.broken, "%s", rows[i].event);
        loads = host_skills_end_cell(&skills);
        cr_expect(strstr(loads.p, rows[i].event + 1), "as it came: %s", loads.p);
        host_text_release(&loads);
        host_skills_release(&skills);
    }
}

/* Each of them is the cell's one event, and the generation is done with. */
Test(host_skills, what_is_not_as_it_must_be_is_invalid)
{
    static const char *const rows[] = {
        LOADED("never announced"),
        "{\"attestation_id\":\"a\",\"event\":\"sidecar_loaded\",\"sha256\":\"other\"}",
        "{\"attestation_id\":\"a\",\"event\":\"sidecar_loaded\"}",
        "{\"attestation_id\":\"a\",\"event\":\"invalid_sidecar_event\"}",
        "{\"attestation_id\":5,\"event\":\"sidecar_loaded\",\"sha256\":\"" SOURCE "\"}",
        "{\"event\":\"sidecar_loaded\",\"sha256\":\"" SOURCE "\"}",
        "{\"attestation_id\":\"a\",\"sha256\":\"" SOURCE "\"}",
        "{\"attestation_id\":\"a\\u0000\",\"event\":\"sidecar_loaded\",\"sha256\":\"" SOURCE "\"}",
        "{\"attestation_id\":\"\",\"event\":\"sidecar_capture_started\",\"sha256\":\"" SOURCE "\"}",
        "{\"attestation_id\":\"b\",\"event\":\"sidecar_capture_started\"}",
        STARTED("a"), /* a second time */
        "{}",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_skills skills;

        begin(&skills);
        take(&skills, STARTED("a"));
        take(&skills, rows[i]);
        cr_expect(skills.broken, "%s", rows[i]);
        expect_end(&skills, "[" INVALID "]");
        host_skills_release(&skills);
    }
}

Test(host_skills, what_is_not_signed_is_invalid)
{
    static const char *const rows[] = {
        "null",
        "5",
        "[]",
        "{}",
        LOADED("a"),
        "{\"attestation_mac\":5}",
        "{\"attestation_mac\":\"\"}",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_skills skills;

        begin(&skills);
        take(&skills, STARTED("a"));
        host_skills_take(&skills, slice_of(rows[i]));
        cr_expect(skills.broken, "%s", rows[i]);
        expect_end(&skills, "[" INVALID "]");
        host_skills_release(&skills);
    }
}

Test(host_skills, another_key_signs_nothing_here)
{
    struct host_skills skills = {.count = 0};

    host_skills_begin(&skills, SOURCE);
    take(&skills, STARTED("a"));
    cr_expect(skills.broken);
    host_skills_begin(&skills, KEY);
    cr_expect_not(skills.broken, "a new worker begins anew");
    expect_end(&skills, "none");
    host_skills_release(&skills);
}

Test(host_skills, what_has_not_run_at_the_end_of_its_cell_never_has)
{
    struct host_skills skills;

    begin(&skills);
    take(&skills, STARTED("a"));
    expect_end(&skills, "none");
    cr_expect(skills.broken);
    take(&skills, LOADED("a"));
    expect_end(&skills, "[" INVALID "]");
    host_skills_release(&skills);
}

Test(host_skills, a_cell_has_so_many_events_and_no_more)
{
    struct host_skills skills;
    struct host_text loads;
    size_t n = 0;

    begin(&skills);
    for (size_t i = 0; i < HOST_SKILL_LOADS + 10; i++) {
        take(&skills, STARTED("a"));
        take(&skills, LOADED("a"));
    }
    cr_expect(skills.broken);
    loads = host_skills_end_cell(&skills);
    for (const char *at = loads.p; (at = strstr(at, "attestation_id")); at++) {
        n++;
    }
    cr_expect_eq(n, HOST_SKILL_LOADS);
    host_text_release(&loads);
    host_skills_release(&skills);
}

Test(host_skills, events_of_a_cell_take_so_much_and_no_more)
{
    enum { LARGE = 3 << 20 };
    struct host_skills skills;
    struct buffer event = BUFFER_INIT;
    struct host_text loads;

    begin(&skills);
    buffer_put_text(&event, "{\"attestation_id\":\"a\",\"event\":\"e\",\"sha256\":\"" SOURCE
                            "\",\"source_b64\":\"");
    for (size_t i = 0; i < LARGE; i++) {
        buffer_put_char(&event, 'x');
    }
    buffer_put(&event, "\"}", 3);
    for (size_t i = 0; i < 4; i++) {
        take(&skills, STARTED("a"));
        take(&skills, (const char *)event.p);
        cr_expect_eq(skills.broken, i >= 2);
    }
    loads = host_skills_end_cell(&skills);
    cr_expect_lt(loads.n, HOST_SKILL_LOADS_BYTES + 100);
    cr_expect(strstr(loads.p, INVALID));
    host_text_release(&loads);
    buffer_release(&event);
    host_skills_release(&skills);
}

Test(host_skills, a_bottomless_event_is_invalid)
{
    struct host_skills skills;
    struct buffer event = BUFFER_INIT;

    begin(&skills);
    buffer_put_text(&event, "{\"attestation_id\":\"a\",\"event\":\"e\",\"n\":");
    for (size_t i = 0; i < 1000; i++) {
        buffer_put_char(&event, '[');
    }
    for (size_t i = 0; i < 1000; i++) {
        buffer_put_char(&event, ']');
    }
    buffer_put_text(&event, ",\"sha256\":\"" SOURCE "\"}");
    buffer_put_char(&event, '\0');
    take(&skills, STARTED("a"));
    take(&skills, (const char *)event.p);
    expect_end(&skills, "[" INVALID "]");
    buffer_release(&event);
    host_skills_release(&skills);
}

/* ---- through a host ---------------------------------------------------------------------- */

Test(host_skills, frames_take_the_place_of_the_responses_own_list)
{
    struct host_stage stage;
    struct host_result *result;

    host_stage_run(&stage,
                   "init; get; say '{\"type\":\"response\",\"id\":\"'$id'\",\"stdout\":\"\","
                   "\"skill_sidecar_loads\":[{\"a\": 1}]}'; get; "
                   "say '{\"type\":\"skill_sidecar_load\",\"id\":\"'$id'\",\"event\":{}}'; "
                   "say '{\"type\":\"response\",\"id\":\"'$id'\",\"stdout\":\"\","
                   "\"skill_sidecar_loads\":[{\"a\": 1}]}'; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    cr_expect_str_eq(result->skill_loads.p, "[{\"a\": 1}]");
    cr_expect(strstr(result->json.p, "\"skill_sidecar_loads\":[{\"a\": 1}],"), "%s",
              result->json.p);
    cr_expect(host_is_recoverable(stage.host));
    host_result_destroy(&result);
    result = host_stage_execute(&stage, "x");
    cr_expect_str_eq(result->skill_loads.p, "[" INVALID "]");
    cr_expect(strstr(result->json.p, "\"skill_sidecar_loads\":[" INVALID "],"), "%s",
              result->json.p);
    cr_expect_null(strstr(result->json.p, "{\"a\": 1}"));
    cr_expect_not(host_is_recoverable(stage.host));
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host_skills, an_event_of_another_cell_ends_the_recovery)
{
    struct host_stage stage;
    struct host_result *result;

    host_stage_run(&stage, "init; get; "
                           "say '{\"type\":\"skill_sidecar_load\",\"id\":\"other\",\"event\":{}}'; "
                           "reply; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    cr_expect_not(host_is_recoverable(stage.host));
    host_result_destroy(&result);
    host_destroy(&stage.host);
}
