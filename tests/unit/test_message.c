/* Tests of kernel/message.c: frames byte for byte. */

#include <criterion/criterion.h>
#include <czmq.h>

#include "bridge/json_text.h"
#include "kernel/log.h"
#include "kernel/message.h"
#include "kernel/wire.h"

#define HEADER "{ \"msg_id\" : \"a\",\"msg_type\":\"x_request\" , \"n\":1.50}"

struct pair {
    zsock_t *router, *dealer;
    struct session session;
    struct signer *signer;
};

static void pair_init(struct pair *self, const char *key)
{
    (void)zsys_handler_set(NULL);
    session_init(&self->session, NULL);
    cr_assert(signer_new("hmac-sha256", slice_of(key), &self->signer) == 0);
    self->router = zsock_new(ZMQ_ROUTER);
    zsock_set_router_mandatory(self->router, 1);
    cr_assert(zsock_bind(self->router, "inproc://pair") == 0);
    self->dealer = zsock_new(ZMQ_DEALER);
    zsock_set_identity(self->dealer, "me");
    zsock_set_rcvtimeo(self->dealer, 10000);
    cr_assert(zsock_connect(self->dealer, "inproc://pair") == 0);
    /* The router knows its peer when something of it was read. */
    cr_assert(zstr_send(self->dealer, "hello") == 0);
    zmsg_t *hello = zmsg_recv(self->router);
    zmsg_destroy(&hello);
}

static void pair_release(struct pair *self)
{
    zsock_destroy(&self->dealer);
    zsock_destroy(&self->router);
    signer_destroy(&self->signer);
    zsys_shutdown();
}

/* An origin with these routing frames. */
static struct origin *origin_of(const struct slice *identity, size_t identities)
{
    struct wire_message *message = calloc(1, sizeof *message);
    struct origin *origin;

    for (size_t i = 0; i < identities; i++) {
        cr_assert(zmq_msg_init_size(&message->frame[i], identity[i].n) == 0);
        memcpy(zmq_msg_data(&message->frame[i]), identity[i].p, identity[i].n);
    }
    message->frames = message->identities = identities;
    message->header = slice_of(HEADER);
    message->msg_type = slice_of("\"x_request\"");
    origin = origin_new(message, CHANNEL_SHELL);
    wire_message_release(message);
    free(message);
    return origin;
}

static struct slice pop(zmsg_t *message, zframe_t **ret_frame)
{
    *ret_frame = zmsg_pop(message);
    cr_assert(*ret_frame, "too few frames");
    return (struct slice){zframe_data(*ret_frame), zframe_size(*ret_frame)};
}

static void expect_frame(zmsg_t *message, const char *bytes, size_t n)
{
    zframe_t *frame;
    struct slice got = pop(message, &frame);

    cr_assert(slice_equal(got, (struct slice){(const uint8_t *)bytes, n}), "%.*s, not %s",
              (int)got.n, (const char *)got.p, bytes);
    zframe_destroy(&frame);
}

Test(message, carries_all_identities_the_raw_parent_and_a_signature_that_is_right)
{
    static const char *const keys[] = {"key", ""};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct slice identity[] = {
            slice_of("me"), {(const uint8_t *)"\0\xff<IDS", 6}, slice_of("")};
        struct buffer msg_id = BUFFER_INIT, told = BUFFER_INIT;
        struct origin *origin = origin_of(identity, 3);
        struct slice part[4], raw;
        zframe_t *signature, *header;
        zmsg_t *message;
        struct pair pair;

        pair_init(&pair, keys[i]);
        cr_assert(message_send(zsock_resolve(pair.router), &pair.session, pair.signer, origin,
                               "x_reply", slice_of("{\"m\": 1}"), slice_of("{\"c\":\"\\u0000\"}"),
                               &msg_id) == 0);
        message = zmsg_recv(pair.dealer);
        cr_assert_eq(zmsg_size(message), 2 + 6, "the first identity is the ROUTER's");
        expect_frame(message, "\0\xff<IDS", 6);
        expect_frame(message, "", 0);
        expect_frame(message, "<IDS|MSG>", 9);
        struct slice hex = pop(message, &signature);
        part[0] = pop(message, &header);
        part[1] = slice_of(HEADER);
        part[2] = slice_of("{\"m\": 1}");
        part[3] = slice_of("{\"c\":\"\\u0000\"}");
        cr_assert_eq(hex.n, keys[i][0] ? 64 : 0);
        cr_assert(signer_verify(pair.signer, part, 4, hex));
        for (int j = 1; j < 4; j++) {
            expect_frame(message, (const char *)part[j].p, part[j].n);
        }
        cr_assert(json_object_get_kind(part[0], "msg_type", JSON_STRING, &raw) == 0);
        cr_assert(json_string_is(raw, "x_reply"));
        cr_assert(json_object_get_kind(part[0], "msg_id", JSON_STRING, &raw) == 0);
        json_string_decode(raw, &told);
        cr_assert(slice_equal(buffer_slice(&told), buffer_slice(&msg_id)));
        zframe_destroy(&signature);
        zframe_destroy(&header);
        zmsg_destroy(&message);
        buffer_release(&told);
        buffer_release(&msg_id);
        origin_unref(&origin);
        pair_release(&pair);
    }
}

Test(message, a_client_without_a_socket_is_told_and_leaves_no_half_message_behind)
{
    struct slice me = slice_of("me"), nobody = slice_of("nobody");
    struct buffer msg_id = BUFFER_INIT;
    struct origin *origin = origin_of(&me, 1), *gone = origin_of(&nobody, 1);
    zmsg_t *message;
    struct pair pair;

    pair_init(&pair, "key");
    cr_assert_eq(message_send(zsock_resolve(pair.router), &pair.session, pair.signer, gone,
                              "input_request", slice_of("{}"), slice_of("{}"), &msg_id),
                 -EHOSTUNREACH);
    cr_assert_eq(msg_id.n, 0);
    cr_assert(message_send(zsock_resolve(pair.router), &pair.session, pair.signer, origin,
                           "x_reply", slice_of("{}"), slice_of("{}"), NULL) == 0);
    message = zmsg_recv(pair.dealer);
    cr_assert_eq(zmsg_size(message), 6);
    zmsg_destroy(&message);
    zsock_set_router_mandatory(pair.router, 0);
    cr_assert_eq(message_send(zsock_resolve(pair.router), &pair.session, pair.signer, gone,
                              "x_reply", slice_of("{}"), slice_of("{}"), NULL),
                 0, "elsewhere a client that left is no error");
    origin_unref(&origin);
    origin_unref(&gone);
    pair_release(&pair);
}

Test(message, what_clients_do_not_take_is_told_ever_more_seldom)
{
    FILE *file = tmpfile();
    uint64_t dropped = 0;
    char line[200];

    log_init(fileno(file), LEVEL_INFO);
    message_tell_lost(0, "x_reply", &dropped);
    message_tell_lost(-EHOSTUNREACH, "x_reply", &dropped); /* debug */
    for (int i = 0; i < 7; i++) {
        message_tell_lost(-EAGAIN, "x_reply", &dropped);
    }
    cr_assert_eq(dropped, 7);
    rewind(file);
    for (int n = 1; n <= 4; n *= 2) {
        char wanted[200];

        (void)snprintf(wanted, sizeof wanted,
                       "einkorn: x_reply dropped: its client takes none (%d dropped so far)\n", n);
        cr_assert_not_null(fgets(line, sizeof line, file));
        cr_assert_str_eq(line, wanted);
    }
    cr_assert_null(fgets(line, sizeof line, file));
    (void)fclose(file);
}
