/* Tests of kernel/router.c: what is dropped, what is answered, and on which channel. */

#include "kernel_fixture.h"

#define HEADER "a right header" /* stands for one */

/* A frame HEADER is that of a request of this type, the others are themselves. */
static const char *frame_text(const char *frame, const char *type, char ret_header[STAGE_TEXT])
{
    if (strcmp(frame, HEADER) != 0) {
        return frame;
    }
    (void)snprintf(ret_header, STAGE_TEXT, "{\"msg_id\":\"b\",\"msg_type\":\"%s_request\"}", type);
    return ret_header;
}

/* Sends frames; a frame "?" becomes the signature of the four after it. */
static void send_frames(struct stage *stage, zsock_t *socket, const char *type,
                        const char *const *frame)
{
    char hex[SIGN_HEX_MAX + 1], header[STAGE_TEXT];
    zmsg_t *message = zmsg_new();

    for (; *frame; frame++) {
        if (strcmp(*frame, "?") == 0) {
            struct slice part[4];

            for (int i = 0; i < 4; i++) {
                part[i] = slice_of(frame_text(frame[i + 1], type, header));
            }
            stage_sign(stage->signer, part, hex);
            zmsg_addstr(message, hex);
        } else {
            zmsg_addstr(message, frame_text(*frame, type, header));
        }
    }
    cr_assert(zmsg_send(&message, socket) == 0);
}

Test(router, each_breach_is_dropped_without_an_answer)
{
    static const char *const rows[][8] = {
        {"no delimiter", NULL},
        {"", NULL},
        {"<IDS|MSG>", NULL},
        {"<IDS|MSG>", "?", HEADER, "{}", "{}", "{}", NULL}, /* the first is right: for a replay */
        {"<IDS|MSG>", "?", HEADER, "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "", HEADER, "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", HEADER,
         "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", HEADER, "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "?", "[]", "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "?", "{\"msg_id\":\"b\"", "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "?", "{\"msg_id\":\"b\"}", "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "?", "{\"msg_type\":\"connect_request\"}", "{}", "{}", "{}", NULL},
        {"<IDS|MSG>", "?", "{\"msg_id\":1,\"msg_type\":\"connect_request\"}", "{}", "{}", "{}",
         NULL},
        {"<IDS|MSG>", "?", "{\"msg_id\":\"b\",\"msg_type\":null}", "{}", "{}", "{}", NULL},
    };
    static const struct {
        enum channel channel;
        const char *type;
    } kinds[] = {
        {CHANNEL_SHELL, "connect"},
        {CHANNEL_SHELL, "kernel_info"},
        {CHANNEL_CONTROL, "connect"},
        {CHANNEL_CONTROL, "kernel_info"}, /* its thread answers */
    };
    struct stage stage;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char type[32], id[16];

        stage_init(&stage);
        for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
            send_frames(&stage, stage.client[kinds[i].channel], kinds[i].type, rows[j]);
        }
        stage_send(&stage, kinds[i].channel, "connect_request", "{}");
        (void)snprintf(id, sizeof id, "m%u", stage.sent);
        (void)snprintf(type, sizeof type, "%s_reply", kinds[i].type);
        stage_expect(&stage, kinds[i].channel, type, "b", "ok"); /* once: of the first right one */
        stage_expect(&stage, kinds[i].channel, "connect_reply", id, "ok");
        stage_expect_status(&stage, "b", "busy");
        stage_expect_status(&stage, "b", "idle");
        stage_expect_status(&stage, id, "busy");
        stage_expect_status(&stage, id, "idle");
        stage_release(&stage);
    }
}

Test(router, an_unknown_type_is_busy_and_idle_and_gets_no_reply)
{
    static const char *const types[] = {"nonsense_request", "", "execute_reply", "input_reply"};
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char id[16];

        stage_send(&stage, CHANNEL_SHELL, types[i], "{}");
        (void)snprintf(id, sizeof id, "m%u", stage.sent);
        stage_expect_status(&stage, id, "busy");
        stage_expect_status(&stage, id, "idle");
    }
    stage_send(&stage, CHANNEL_SHELL, "connect_request", "{}");
    stage_expect(&stage, CHANNEL_SHELL, "connect_reply", "m5", "ok");
    stage_release(&stage);
}

Test(router, text_that_waits_leaves_before_the_busy_of_another_request)
{
    struct origin *origin;
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"x\",\"silent\":true}");
    stage_expect_request(&stage, 1, 1);
    stage_expect_status(&stage, "m1", "busy");
    /* No loop runs between the text and the request, so no timer can have sent the text. */
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    zmq_pollitem_t item = {.socket = sockets_handle(&stage.kernel->sockets, CHANNEL_CONTROL),
                           .events = ZMQ_POLLIN};
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    origin = origins_find(&stage.kernel->origins, 1);
    output_text(&stage.kernel->output, origin, 0, slice_of("text"));
    router_drain(stage.kernel);
    cr_assert_not(output_waits(&stage.kernel->output));
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "text");
    stage_expect_status(&stage, "m2", "busy");
    stage_expect_status(&stage, "m2", "idle");
    stage_release(&stage);
}

Test(router, a_drain_handles_all_that_lies_in_control_and_shell)
{
    enum { EACH = 70 }; /* more than a batch */
    zmq_pollitem_t items[2];
    struct stage stage;
    uint64_t before;

    stage_init(&stage);
    for (int i = 0; i < EACH; i++) {
        stage_send(&stage, CHANNEL_SHELL, "connect_request", "{}");
        stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    }
    items[0] = (zmq_pollitem_t){.socket = sockets_handle(&stage.kernel->sockets, CHANNEL_SHELL),
                                .events = ZMQ_POLLIN};
    items[1] = (zmq_pollitem_t){.socket = sockets_handle(&stage.kernel->sockets, CHANNEL_CONTROL),
                                .events = ZMQ_POLLIN};
    /* Each makes a reply, busy and idle. */
    before = stage.kernel->session.messages;
    while (stage.kernel->session.messages - before < UINT64_C(3) * 2 * EACH) {
        cr_assert_gt(zmq_poll(items, 2, STAGE_DEADLINE_MS), 0);
        router_drain(stage.kernel);
    }
    stage_release(&stage);
}
