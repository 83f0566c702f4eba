/* Tests of kernel/control.c: what is answered while the loop stands still, what goes through. */

#include "kernel_fixture.h"

/* Waits for a message of the kernel; its loop does not run meanwhile. */
static void wait_without_the_loop(zsock_t *socket)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(socket), .events = ZMQ_POLLIN};

    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1, "nothing came");
}

/* A member of a message's header. */
static void header_member(const struct told *told, const char *key, char *ret_text, size_t size)
{
    zmsg_t *frames = told->frames;

    (void)zmsg_first(frames);
    (void)zmsg_next(frames);
    stage_member(zmsg_next(frames), key, ret_text, size);
}

Test(control, kernel_info_is_answered_once_while_the_loop_stands_still)
{
    struct stage stage;
    uint64_t before;

    stage_init(&stage);
    before = stage.kernel->session.messages;
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}");
    wait_without_the_loop(stage.client[CHANNEL_CONTROL]);
    cr_assert_eq(stage.kernel->session.messages, before, "the loop has sent something");
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m1", "\"version\":\"3.11.2\"}");
    stage_expect_status(&stage, "m1", "busy");
    stage_expect_status(&stage, "m1", "idle");
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "connect_reply", "m2", "ok");
    stage_release(&stage);
}

/* Without the loop: time enough for the thread to have read what was sent before on control. */
static void ping_ten_times(zsock_t *heart)
{
    for (int i = 0; i < 10; i++) {
        char *echo;

        cr_assert(zstr_send(heart, "ping") == 0);
        wait_without_the_loop(heart);
        echo = zstr_recv(heart);
        zstr_free(&echo);
    }
}

Test(control, replies_keep_the_order_of_the_requests)
{
    struct stage stage;
    zsock_t *heart;

    stage_init(&stage);
    heart = stage_connect(&stage, CHANNEL_HB, ZMQ_REQ, NULL);
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}");
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}");
    ping_ten_times(heart);
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m1", "ok");
    stage_expect(&stage, CHANNEL_CONTROL, "connect_reply", "m2", "ok");
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m3", "ok");
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}"); /* the loop has none now */
    wait_without_the_loop(stage.client[CHANNEL_CONTROL]);
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m4", "ok");
    zsock_destroy(&heart);
    stage_release(&stage);
}

Test(control, a_ping_is_echoed_as_it_is_while_the_loop_stands_still)
{
    static const struct {
        const char *bytes;
        size_t n;
    } pings[] = {{"ping", 4}, {"", 0}, {"\0\xff\n", 3}};
    static const int types[] = {ZMQ_REQ, ZMQ_DEALER};
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        zsock_t *heart = stage_connect(&stage, CHANNEL_HB, types[i], NULL);

        for (size_t j = 0; j < sizeof pings / sizeof pings[0]; j++) {
            zmsg_t *message = zmsg_new();
            zframe_t *frame;

            zmsg_addmem(message, pings[j].bytes, pings[j].n);
            zmsg_addstr(message, "second");
            cr_assert(zmsg_send(&message, heart) == 0);
            wait_without_the_loop(heart);
            message = zmsg_recv(heart);
            cr_assert_eq(zmsg_size(message), 2);
            frame = zmsg_first(message);
            cr_assert(slice_equal((struct slice){zframe_data(frame), zframe_size(frame)},
                                  (struct slice){(const uint8_t *)pings[j].bytes, pings[j].n}));
            cr_assert(zframe_streq(zmsg_next(message), "second"));
            zmsg_destroy(&message);
        }
        zsock_destroy(&heart);
    }
    stage_release(&stage);
}

Test(control, a_request_with_a_wrong_part_is_the_loops_to_answer)
{
    struct stage stage;

    stage_init(&stage);
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "[]");
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m1", "ProtocolError");
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "connect_reply", "m2", "ok");
    stage_release(&stage);
}

/* The same kernel_info_request each time, with that signature; NULL: with the right one. */
static void send_signed(struct stage *stage, const char *signature)
{
    static const char *const text[] = {"{\"msg_id\":\"b\",\"msg_type\":\"kernel_info_request\"}",
                                       "{}", "{}", "{}"};
    zmsg_t *message = stage_message(stage, text, signature);

    cr_assert(zmsg_send(&message, stage->client[CHANNEL_CONTROL]) == 0);
}

Test(control, nobody_is_answered_without_a_signature_that_is_right_and_new)
{
    struct stage stage;

    stage_init(&stage);
    send_signed(&stage, "");
    stage_turn(&stage); /* its reply is the next one */
    send_signed(&stage, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    stage_turn(&stage);
    send_signed(&stage, NULL);
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "b", "ok");
    send_signed(&stage, NULL);
    stage_turn(&stage);
    stage_release(&stage);
}

Test(control, a_large_message_is_the_loops_to_look_at)
{
    static const char empty[] = "{}";
    size_t n = (size_t)1 << 20;
    char *content = malloc(n + sizeof empty);
    struct stage stage;
    zsock_t *heart;

    memset(content, ' ', n);
    memcpy(content + n, empty, sizeof empty);
    stage_init(&stage);
    heart = stage_connect(&stage, CHANNEL_HB, ZMQ_REQ, NULL);
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", content);
    ping_ten_times(heart);
    cr_assert_eq(zsock_events(stage.client[CHANNEL_CONTROL]) & ZMQ_POLLIN, 0);
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m1", "ok");
    zsock_destroy(&heart);
    stage_release(&stage);
    free(content);
}

Test(control, what_it_is_told_is_in_the_next_answer_and_no_id_comes_twice)
{
    static const char *const versions[] = {"3.12.7", "3.13.0", "3.13.0"};
    char id[3][80], wanted[32], session[80];
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct told told;

        session_init(&stage.kernel->session, "another");
        control_tell(stage.kernel->control, &stage.kernel->session, versions[i]);
        stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}");
        stage_receive(&stage, CHANNEL_CONTROL, &told);
        (void)snprintf(wanted, sizeof wanted, "\"version\":\"%s\"}", versions[i]);
        cr_assert(strstr(told.content, wanted), "%s", told.content);
        header_member(&told, "session", session, sizeof session);
        cr_assert_str_eq(session, stage.kernel->session.id);
        header_member(&told, "msg_id", id[i], sizeof id[i]);
        told_release(&told);
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(strrchr(id[i], '_'), strrchr(id[j], '_'));
        }
    }
    stage_release(&stage);
}

Test(control, a_message_of_too_many_frames_is_dropped_and_the_next_one_answered)
{
    static const char *const text[] = {"{\"msg_id\":\"b\",\"msg_type\":\"connect_request\"}", "{}",
                                       "{}", "{}"};
    struct stage stage;
    zmsg_t *message;

    stage_init(&stage);
    message = stage_message(&stage, text, NULL);
    for (int i = 0; i < WIRE_FRAMES_MAX; i++) { /* it is right, but for as many buffers */
        zmsg_addstr(message, "");
    }
    cr_assert(zmsg_send(&message, stage.client[CHANNEL_CONTROL]) == 0);
    stage_send(&stage, CHANNEL_CONTROL, "kernel_info_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "kernel_info_reply", "m1", "ok");
    stage_expect_status(&stage, "m1", "busy");
    stage_release(&stage);
}

Test(control, replies_of_the_loop_get_out_before_the_end)
{
    enum { REPLIES = 100 };
    struct stage stage;
    struct kernel *kernel;

    stage_init(&stage);
    kernel = stage.kernel;
    for (int i = 0; i < REPLIES; i++) {
        stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    }
    for (uint64_t before = kernel->session.messages;
         kernel->session.messages - before < UINT64_C(3) * REPLIES;) {
        zmq_pollitem_t item = {.socket = sockets_handle(&kernel->sockets, CHANNEL_CONTROL),
                               .events = ZMQ_POLLIN};

        cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
        router_drain(kernel);
    }
    control_destroy(&kernel->control);
    for (int i = 0; i < REPLIES; i++) {
        zmsg_t *message;

        wait_without_the_loop(stage.client[CHANNEL_CONTROL]);
        message = zmsg_recv(stage.client[CHANNEL_CONTROL]);
        cr_assert_eq(zmsg_size(message), 6);
        zmsg_destroy(&message);
    }
    /* The loop has the sockets again. */
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        cr_assert_not_null(kernel->sockets.socket[channel], "%s", channel_names[channel]);
    }
    stage_release(&stage);
}
