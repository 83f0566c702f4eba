/*
 * Tests of kernel/registration.c: what is sent in each form, and what each answer
 * does. How long it waits, and what it does to a whole kernel, is in
 * tests/e2e/test_21_registration.py.
 */

#include "kernel/message.h"
#include "kernel_fixture.h"

/* A launcher's socket, and a kernel whose file named it. `kernel_id` NULL: the supervisor's. */
static zsock_t *start(struct stage *stage, const char *kernel_id)
{
    struct connection *connection = &stage->kernel->connection;
    zsock_t *launcher = zsock_new(kernel_id ? ZMQ_ROUTER : ZMQ_REP);

    zsock_set_linger(launcher, 0);
    zsock_set_rcvtimeo(launcher, STAGE_DEADLINE_MS);
    connection->registration_port = zsock_bind(launcher, "tcp://127.0.0.1:*");
    connection->registration_ip = strdup("127.0.0.1");
    connection->kernel_id = kernel_id ? strdup(kernel_id) : NULL;
    registration_start(stage->kernel);
    cr_assert(stage->kernel->registration.socket);
    return launcher;
}

static void end(struct stage *stage, zsock_t *launcher)
{
    registration_release(stage->kernel);
    registration_release(stage->kernel); /* again: nothing */
    zsock_destroy(&launcher);
    stage_release(stage);
}

static void put_hmac(struct stage *stage, const char *text, zmsg_t *message)
{
    char hex[SIGN_HEX_MAX];

    signer_start(stage->signer);
    signer_add(stage->signer, slice_of(text));
    (void)zmsg_addmem(message, hex, signer_finish(stage->signer, hex));
}

static void expect_frame(zmsg_t *message, const char *expected)
{
    char *text = zmsg_popstr(message);

    cr_assert(text && strcmp(text, expected) == 0, "\"%s\", not \"%s\"", text, expected);
    zstr_free(&text);
}

/* Runs the loop until the handshake is over. */
static void run_until_over(struct stage *stage)
{
    while (stage->kernel->registration.socket) {
        stage_turn(stage);
    }
}

Test(registration, the_specified_form_has_three_frames_and_ports_as_strings)
{
    struct stage stage;
    char expected[STAGE_TEXT];

    stage_init(&stage);
    zsock_t *launcher = start(&stage, "a-1");
    zmsg_t *report = zmsg_recv(launcher);
    zframe_t *identity = zmsg_pop(report);
    const int *port = stage.kernel->connection.port;

    cr_assert_eq(zmsg_size(report), 3);
    expect_frame(report, "<IDS|MSG>");
    (void)snprintf(expected, sizeof expected,
                   "{\"kernel_id\":\"a-1\",\"shell_port\":\"%d\",\"iopub_port\":\"%d\","
                   "\"stdin_port\":\"%d\",\"control_port\":\"%d\",\"hb_port\":\"%d\"}",
                   port[CHANNEL_SHELL], port[CHANNEL_IOPUB], port[CHANNEL_STDIN],
                   port[CHANNEL_CONTROL], port[CHANNEL_HB]);
    zmsg_t *right = zmsg_new();
    put_hmac(&stage, expected, right);
    char *hex = zmsg_popstr(right);
    expect_frame(report, hex);
    expect_frame(report, expected);

    (void)zmsg_append(right, &identity);
    (void)zmsg_addstr(right, "<IDS|MSG>");
    put_hmac(&stage, "ACK", right);
    (void)zmsg_addstr(right, "ACK");
    cr_assert(zmsg_send(&right, launcher) == 0);
    run_until_over(&stage);
    cr_expect_not(stage.kernel->stopping);
    zstr_free(&hex);
    zmsg_destroy(&report);
    end(&stage, launcher);
}

/* Runs the loop until the REQ has had its answer, whatever that was worth. */
static void run_until_received(struct stage *stage)
{
    while ((zsock_events(stage->kernel->registration.socket) & ZMQ_POLLOUT) == 0) {
        stage_turn(stage);
    }
}

/* Answers the supervisor's REQ with a signed message of that type and content. */
static void reply(struct stage *stage, zsock_t *launcher, const char *type, const char *content)
{
    const struct origin nobody = {.header = slice_of("{}")};
    struct session session;

    session_init(&session, "launcher");
    cr_assert(message_send(zsock_resolve(launcher), &session, stage->signer, &nobody, type,
                           slice_of("null"), slice_of(content), NULL) == 0);
}

static const struct {
    const char *type, *content;
    bool over, refused;
} replies[] = {
    {"handshake_reply", "{\"status\":\"ok\"}", true, false},
    {"handshake_reply", "{\"status\":\"error\",\"error\":\"no\"}", true, true},
    {"handshake_reply", "{\"status\":\"other\",\"error\":7}", true, true},
    {"handshake_reply", "{}", false, false},
    {"handshake_reply", "no JSON", false, false},
    {"handshake_reply", "[\"status\"]", false, false},
    {"kernel_info_reply", "{\"status\":\"ok\"}", false, false},
};

Test(registration, the_supervisors_reply_decides)
{
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct stage stage;

        stage_init(&stage);
        zsock_t *launcher = start(&stage, NULL);
        zmsg_t *request = zmsg_recv(launcher);
        cr_assert_eq(zmsg_size(request), 6);
        zmsg_destroy(&request);
        reply(&stage, launcher, replies[i].type, replies[i].content);
        if (replies[i].over) {
            run_until_over(&stage);
        } else {
            run_until_received(&stage);
            cr_expect(stage.kernel->registration.socket, "case %zu", i);
        }
        cr_expect_eq(stage.kernel->stopping, replies[i].refused, "case %zu", i);
        cr_expect_eq(stage.kernel->exit_status, replies[i].refused ? EXIT_FAILURE : 0);
        end(&stage, launcher);
    }
}

Test(registration, an_address_that_is_none_ends_the_kernel)
{
    struct stage stage;

    stage_init(&stage);
    stage.kernel->connection.registration_port = 1;
    stage.kernel->connection.registration_ip = strdup("a b");
    registration_start(stage.kernel);
    cr_expect_null(stage.kernel->registration.socket);
    cr_expect(stage.kernel->stopping);
    cr_expect_eq(stage.kernel->exit_status, EXIT_FAILURE);
    stage_release(&stage);
}

Test(registration, without_a_registration_file_nothing_is_reported)
{
    struct stage stage;

    stage_init(&stage);
    registration_start(stage.kernel);
    cr_expect_null(stage.kernel->registration.socket);
    cr_expect_not(stage.kernel->stopping);
    stage_release(&stage);
}
