/*
 * kernel/wire.c: whole messages through a real pair of sockets, good ones and
 * every way to break one.
 */

#include "kernel/wire.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "tests/unit/expect_text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define HEADER       "{\"msg_id\":\"1\",\"msg_type\":\"kernel_info_request\",\"session\":\"s\"}"

enum { FRAMES = 40, PATIENCE = 10000 /* milliseconds */ };

static void *context, *router, *dealer;
static struct signer *signer;
static struct replay *replay;
static struct wire_message message; /* static, so zeroed; used again and again */

static void set_up(void)
{
    context = zmq_ctx_new();
    router = zmq_socket(context, ZMQ_ROUTER);
    dealer = zmq_socket(context, ZMQ_DEALER);
    int no_limit = 0;
    cr_assert(eq(int, zmq_setsockopt(router, ZMQ_RCVHWM, &no_limit, sizeof no_limit), 0));
    cr_assert(eq(int, zmq_setsockopt(dealer, ZMQ_SNDHWM, &no_limit, sizeof no_limit), 0));
    cr_assert(eq(int, zmq_setsockopt(dealer, ZMQ_ROUTING_ID, "client", 6), 0));
    cr_assert(eq(int, zmq_bind(router, "tcp://127.0.0.1:*"), 0));
    char endpoint[64];
    size_t n = sizeof endpoint;
    cr_assert(eq(int, zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &n), 0));
    cr_assert(eq(int, zmq_connect(dealer, endpoint), 0));
    cr_assert(eq(int, signer_new("hmac-sha256", slice_of("key"), &signer), 0));
    replay = replay_new(REPLAY_WINDOW);
}

static void tear_down(void)
{
    wire_message_release(&message);
    wire_message_release(&message);
    signer_destroy(&signer);
    replay_destroy(&replay);
    zmq_close(dealer);
    zmq_close(router);
    zmq_ctx_term(context);
}

TestSuite(wire, .init = set_up, .fini = tear_down);

static void send_frame(struct slice frame, bool more)
{
    cr_assert(ge(int, zmq_send(dealer, frame.p, frame.n, more ? ZMQ_SNDMORE : 0), 0));
}

static void send_frames(const char *const *frame, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        send_frame(slice_of(frame[i]), i + 1 < count);
    }
}

static int receive(void)
{
    zmq_pollitem_t item = {.socket = router, .events = ZMQ_POLLIN};
    cr_assert(eq(int, zmq_poll(&item, 1, PATIENCE), 1), "nothing came");
    wire_message_release(&message);
    return wire_receive(router, &message);
}

static const char *sign(const char *const part[4])
{
    static char hex[SIGN_HEX_MAX + 1];
    signer_start(signer);
    for (int i = 0; i < 4; i++) {
        signer_add(signer, slice_of(part[i]));
    }
    hex[signer_finish(signer, hex)] = '\0';
    return hex;
}

/* Sends the four parts as they should be sent, receives and opens them. */
static int pass(const char *header, const char *parent, const char *metadata, const char *content)
{
    const char *const part[] = {header, parent, metadata, content};
    const char *const frame[] = {"<IDS|MSG>", sign(part), header, parent, metadata, content};
    send_frames(frame, COUNT(frame));
    cr_assert(eq(int, receive(), 0));
    return wire_open(&message, signer, replay);
}

Test(wire, good_message_is_taken_apart)
{
    const char *const part[] = {HEADER, "{}", "{\"m\":1}", "{\"c\":2}"};
    const char *const frame[] = {"proxy", "",      "<IDS|MSG>", sign(part), part[0],
                                 part[1], part[2], part[3],     "buffer 0", "buffer 1"};
    send_frames(frame, COUNT(frame));
    cr_assert(eq(int, receive(), 0));
    cr_assert(eq(int, wire_open(&message, signer, replay), 0));
    cr_expect(eq(sz, message.frames, 11));
    cr_expect(eq(sz, message.identities, 3));
    cr_expect(slice_is(wire_frame(&message, 0), "client"));
    cr_expect(slice_is(wire_frame(&message, 1), "proxy"));
    cr_expect(slice_is(message.signature, sign(part)));
    cr_expect(slice_is(message.header, HEADER));
    cr_expect(slice_is(message.parent_header, "{}"));
    cr_expect(slice_is(message.metadata, "{\"m\":1}"));
    cr_expect(slice_is(message.content, "{\"c\":2}"));
    cr_expect(slice_is(message.msg_id, "\"1\""));
    cr_expect(slice_is(message.msg_type, "\"kernel_info_request\""));
    cr_expect(eq(sz, message.first_buffer, 9));
    cr_expect(slice_is(wire_frame(&message, 10), "buffer 1"));
    cr_expect(eq(int, message.content_error, 0));
}

Test(wire, no_message_is_eagain_and_may_be_released)
{
    wire_message_release(&message);
    cr_expect(eq(int, wire_receive(router, &message), -EAGAIN));
    wire_message_release(&message);
}

Test(wire, message_without_buffers_has_none)
{
    cr_assert(eq(int, pass(HEADER, "{}", "{}", "{}"), 0));
    cr_expect(eq(sz, message.first_buffer, message.frames));
    cr_expect(eq(sz, message.identities, 1));
}

static const struct {
    const char *what;
    const char *frame[FRAMES];
    int error;
} breaches[] = {
    {"one frame", {"x"}, WIRE_EDELIMITER},
    {"an empty frame", {""}, WIRE_EDELIMITER},
    {"no delimiter", {"a", "b", "c", "d", "e", "f", "g"}, WIRE_EDELIMITER},
    {"almost a delimiter", {"<IDS|MSG> ", "s", "{}", "{}", "{}", "{}"}, WIRE_EDELIMITER},
    {"delimiter too late",
     {"1",  "2",  "3",  "4",  "5",  "6",         "7", "8",  "9",  "10", "11",
      "12", "13", "14", "15", "16", "<IDS|MSG>", "s", "{}", "{}", "{}", "{}"},
     WIRE_EDELIMITER},
    {"nothing but the delimiter", {"<IDS|MSG>"}, WIRE_EFRAMES},
    {"four frames after it", {"<IDS|MSG>", "s", "{}", "{}", "{}"}, WIRE_EFRAMES},
    {"empty signature", {"<IDS|MSG>", "", HEADER, "{}", "{}", "{}"}, WIRE_ESIGNATURE},
    {"wrong signature", {"<IDS|MSG>", "abcd", HEADER, "{}", "{}", "{}"}, WIRE_ESIGNATURE},
    {"wrong signature before bad JSON",
     {"<IDS|MSG>", "abcd", "\xFF", "[", "", "x"},
     WIRE_ESIGNATURE},
    {"last possible identity",
     {"2",  "3",  "4",  "5",  "6",         "7", "8",  "9",  "10", "11", "12",
      "13", "14", "15", "16", "<IDS|MSG>", "s", "{}", "{}", "{}", "{}"},
     WIRE_ESIGNATURE},
};

Test(wire, broken_messages_are_refused_and_the_next_one_is_fine)
{
    for (size_t i = 0; i < COUNT(breaches); i++) {
        size_t count = 0;
        while (breaches[i].frame[count] != NULL) {
            count++;
        }
        send_frames(breaches[i].frame, count);
        cr_assert(eq(int, receive(), 0), "%s", breaches[i].what);
        cr_expect(eq(int, wire_open(&message, signer, replay), breaches[i].error), "%s",
                  breaches[i].what);
    }
    cr_assert(eq(int, pass(HEADER, "{}", "{}", "{}"), 0));
}

Test(wire, signature_covers_each_of_the_four_parts)
{
    const char *const part[] = {HEADER, "{}", "{}", "{}"};
    for (size_t changed = 0; changed < 4; changed++) {
        const char *frame[] = {"<IDS|MSG>", sign(part), part[0], part[1], part[2], part[3]};
        frame[2 + changed] = "{ }";
        send_frames(frame, COUNT(frame));
        cr_assert(eq(int, receive(), 0));
        cr_expect(eq(int, wire_open(&message, signer, replay), WIRE_ESIGNATURE), "part %zu",
                  changed);
    }
}

Test(wire, message_seen_before_is_refused_and_an_unverified_one_was_not_stored)
{
    const char *const part[] = {HEADER, "{}", "{}", "{}"};
    const char *const altered[] = {"<IDS|MSG>", sign(part), part[0], part[1], part[2], "{ }"};
    send_frames(altered, COUNT(altered));
    cr_assert(eq(int, receive(), 0));
    cr_expect(eq(int, wire_open(&message, signer, replay), WIRE_ESIGNATURE));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{}"), 0));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{}"), WIRE_EREPLAY));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{\"other\":1}"), 0));
}

Test(wire, without_a_key_equal_messages_are_no_replays)
{
    signer_destroy(&signer);
    cr_assert(eq(int, signer_new("hmac-sha256", slice_of(""), &signer), 0));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{}"), 0));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{}"), 0));
    const char *const frame[] = {"<IDS|MSG>", "abcd", HEADER, "{}", "{}", "{}"};
    send_frames(frame, COUNT(frame));
    cr_assert(eq(int, receive(), 0));
    cr_expect(eq(int, wire_open(&message, signer, replay), WIRE_ESIGNATURE));
}

Test(wire, header_must_name_the_message)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{",
        "{\"msg_id\":\"1\"}",
        "{\"msg_type\":\"t\"}",
        "{\"msg_id\":1,\"msg_type\":\"t\"}",
        "{\"msg_id\":\"1\",\"msg_type\":null}",
        "{\"msg_id\":\"1\",\"msg_type\":\"\xFF\"}",
        "{\"x\":{\"msg_id\":\"1\",\"msg_type\":\"t\"}}",
        "{\"msg_id\":\"1\",\"msg_type\":\"t\"} x",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        cr_expect(eq(int, pass(bad[i], "{}", "{}", "{}"), WIRE_EHEADER), "%s", bad[i]);
    }
    /* The other fields may be missing or anything. */
    cr_expect(
        eq(int,
           pass("{\"msg_id\":\"\",\"msg_type\":\"t\",\"session\":7,\"date\":[]}", "{}", "{}", "{}"),
           0));
}

static char *nested(size_t depth)
{
    char *text = malloc(6 * depth + 2);
    char *end = text;
    for (size_t i = 0; i < depth; i++) {
        memcpy(end, "{\"a\":", 5);
        end += 5;
    }
    *end++ = '1';
    for (size_t i = 0; i < depth; i++) {
        *end++ = '}';
    }
    *end = '\0';
    return text;
}

Test(wire, bad_parts_of_a_signed_message_are_noted_not_refused)
{
    static const struct {
        const char *parent, *metadata, *content;
        int error;
        const char *part;
    } cases[] = {
        {"{}", "{}", "{}", 0, ""},
        {"null", "{}", "{}", 0, ""},
        {"[]", "{}", "{}", WIRE_EJSON, "parent_header"},
        {"{}", "null", "{}", WIRE_EJSON, "metadata"},
        {"{}", "", "{}", JSON_ESYNTAX, "metadata"},
        {"{}", "{}", "[]", WIRE_EJSON, "content"},
        {"{}", "{}", "{\"code\":", JSON_ESYNTAX, "content"},
        {"{}", "{}", "{\"code\":\"\xC0\xAF\"}", JSON_EUTF8, "content"},
        {"{}", "{}", "{\"code\":\"\\ud800\"}", 0, ""},
        {"x", "y", "z", JSON_ESYNTAX, "parent_header"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cr_assert(eq(int, pass(HEADER, cases[i].parent, cases[i].metadata, cases[i].content), 0));
        cr_expect(eq(int, message.content_error, cases[i].error), "case %zu", i);
        const char *part = message.bad_part != NULL ? message.bad_part : "";
        EXPECT_TEXT(part, cases[i].part);
    }
}

Test(wire, nesting_is_bounded)
{
    char *good = nested(WIRE_DEPTH_MAX), *bad = nested(WIRE_DEPTH_MAX + 1);
    cr_expect(eq(int, pass(HEADER, "{}", "{}", good), 0));
    cr_expect(eq(int, message.content_error, 0));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", bad), 0));
    cr_expect(eq(int, message.content_error, JSON_EDEPTH));
    cr_expect(eq(int, pass(bad, "{}", "{}", "{}"), WIRE_EHEADER));
    free(good);
    free(bad);
}

/* A valid header of exactly n bytes. */
static char *header_of(size_t n)
{
    char *text = malloc(n + 1);
    memset(text, ' ', n);
    memcpy(text, HEADER, sizeof HEADER - 1);
    text[n] = '\0';
    return text;
}

Test(wire, oversize_headers_are_refused_before_their_signature_is_computed)
{
    char *good = header_of(WIRE_HEADER_MAX), *bad = header_of(WIRE_HEADER_MAX + 1);
    cr_expect(eq(int, pass(good, "{}", "{}", "{}"), 0));
    cr_expect(eq(int, pass(bad, "{}", "{}", "{}"), WIRE_ESIZE));
    cr_expect(eq(int, pass(HEADER, good, "{}", "{}"), 0));
    cr_expect(eq(int, pass(HEADER, bad, "{}", "{}"), WIRE_ESIZE));
    const char *const frame[] = {"<IDS|MSG>", "abcd", bad, "{}", "{}", "{}"};
    send_frames(frame, COUNT(frame));
    cr_assert(eq(int, receive(), 0));
    cr_expect(eq(int, wire_open(&message, signer, replay), WIRE_ESIZE));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", bad), 0), "content may be as large as it likes");
    free(good);
    free(bad);
}

Test(wire, most_frames_are_taken_and_one_more_is_not)
{
    /* The router puts the client's name in front. */
    for (size_t i = 0; i < WIRE_FRAMES_MAX - 1; i++) {
        send_frame(slice_of("x"), i + 1 < WIRE_FRAMES_MAX - 1);
    }
    cr_expect(eq(int, receive(), 0));
    cr_expect(eq(sz, message.frames, WIRE_FRAMES_MAX));

    for (size_t i = 0; i < WIRE_FRAMES_MAX; i++) {
        send_frame(slice_of("x"), i + 1 < WIRE_FRAMES_MAX);
    }
    cr_expect(eq(int, receive(), WIRE_EFRAMES));
    cr_expect(eq(sz, message.frames, WIRE_FRAMES_MAX));
    cr_expect(slice_is(wire_frame(&message, 0), "client"), "the caller can name the sender");
}

Test(wire, rest_of_a_message_with_too_many_frames_is_dropped)
{
    for (size_t i = 0; i < 5 * WIRE_FRAMES_MAX; i++) {
        send_frame(slice_of("x"), i + 1 < 5 * WIRE_FRAMES_MAX);
    }
    cr_expect(eq(int, receive(), WIRE_EFRAMES));
    cr_expect(eq(int, pass(HEADER, "{}", "{}", "{}"), 0), "the socket is in step");
}

Test(wire, every_error_has_a_text)
{
    for (int a = WIRE_EDELIMITER; a >= WIRE_EJSON; a--) {
        for (int b = WIRE_EDELIMITER; b > a; b--) {
            cr_expect(strcmp(wire_error_text(a), wire_error_text(b)) != 0);
        }
    }
    cr_expect(strcmp(wire_error_text(JSON_EDEPTH), "nested too deeply") == 0);
    cr_expect(strcmp(wire_error_text(-EAGAIN), strerror(EAGAIN)) == 0);
}
