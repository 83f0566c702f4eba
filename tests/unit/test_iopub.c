/* Tests of kernel/iopub.c: order, slices, what is not taken yet, topics, welcomes. */

#include "kernel_fixture.h"

/* A message's content of that size: an object. The caller frees it. */
static char *large(size_t size)
{
    char *text = malloc(size + 1);

    memset(text, 'x', size);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + size - 2, "\"}", 3);
    return text;
}

static void publish(struct stage *stage, const char *type, const char *content)
{
    iopub_publish(&stage->kernel->iopub, type, NULL, slice_of("{}"), slice_of(content));
}

/* The next message must be of that type and size. */
static void expect_size(struct stage *stage, const char *type, size_t size)
{
    struct told told;
    zframe_t *content;

    stage_receive(stage, CHANNEL_IOPUB, &told);
    cr_assert_str_eq(told.type, type);
    content = zmsg_first(told.frames);
    for (int i = 0; i < 6; i++) {
        content = zmsg_next(told.frames);
    }
    cr_assert_eq(zframe_size(content), size);
    told_release(&told);
}

Test(iopub, a_large_message_is_signed_in_slices_and_the_others_keep_behind_it)
{
    size_t size = 2 * (size_t)IOPUB_SLICE + 1000, calls = 0;
    char *content = large(size);
    struct stage stage;
    struct iopub *iopub;

    stage_init(&stage);
    iopub = &stage.kernel->iopub;
    publish(&stage, "before", "{}");
    cr_assert_not(iopub_is_busy(iopub), "a small one leaves at once");
    cr_assert_eq(stage.continued, 0);
    publish(&stage, "large", content);
    publish(&stage, "behind", "{}");
    publish(&stage, "last", "{}");
    cr_assert(iopub_is_busy(iopub));
    cr_assert_eq(stage.continued, 1, "on_busy once, not %zu times", stage.continued);
    while (iopub_is_busy(iopub)) {
        iopub_work(iopub);
        calls++;
    }
    cr_assert_eq(calls, 2 + 2, "two slices more, and the two behind it: %zu", calls);
    iopub_work(iopub); /* nothing to do, nothing done */
    stage_expect(&stage, CHANNEL_IOPUB, "before", "", "{}");
    expect_size(&stage, "large", size);
    stage_expect(&stage, CHANNEL_IOPUB, "behind", "", "{}");
    stage_expect(&stage, CHANNEL_IOPUB, "last", "", "{}");
    publish(&stage, "after", "{}");
    cr_assert_eq(stage.continued, 1);
    stage_expect(&stage, CHANNEL_IOPUB, "after", "", "{}");
    free(content);
    stage_release(&stage);
}

Test(iopub, the_loop_finishes_what_was_begun)
{
    size_t size = 3 * (size_t)IOPUB_SLICE;
    char *content = large(size);
    struct stage stage;

    stage_init(&stage);
    publish(&stage, "one", content);
    publish(&stage, "two", content);
    publish(&stage, "end", "{}");
    expect_size(&stage, "one", size);
    expect_size(&stage, "two", size);
    stage_expect(&stage, CHANNEL_IOPUB, "end", "", "{}");
    cr_assert_eq(stage.continued, 1);
    free(content);
    stage_release(&stage);
}

Test(iopub, what_is_unsent_counts_up_with_contents_and_buffers_and_down_to_nothing)
{
    struct slice buffer[2] = {slice_of("12345"), slice_of("")};
    struct session session;
    struct signer *signer;
    struct iopub iopub;
    zsock_t *xpub, *sub;
    zmsg_t *message;

    /* No loop, and a subscriber that takes nothing before it is asked to. */
    (void)zsys_handler_set(NULL);
    session_init(&session, NULL);
    cr_assert(signer_new("", slice_of(""), &signer) == 0);
    xpub = zsock_new_xpub("@inproc://iopub");
    sub = zsock_new_sub(">inproc://iopub", "");
    zsock_set_rcvtimeo(sub, STAGE_DEADLINE_MS);
    iopub_init(&iopub, zsock_resolve(xpub), &session, signer);
    iopub_receive(&iopub); /* the welcome */
    zmsg_t *welcome = zmsg_recv(sub);
    cr_assert(welcome);
    zmsg_destroy(&welcome);
    cr_assert_eq(iopub_unsent(&iopub), 0, "%zu", iopub_unsent(&iopub));

    iopub_publish_parts(&iopub, "t", NULL, slice_of("{}"), slice_of("{\"a\":100}"), buffer, 2,
                        NULL);
    iopub_publish(&iopub, "t", NULL, slice_of("{}"), slice_of("{}"));
    /* Contents and buffers are 16 bytes; the rest is what two messages take besides. */
    cr_assert_gt(iopub_unsent(&iopub), 16 + 2 * 512);
    cr_assert_leq(iopub_unsent(&iopub), 16 + 2 * 4096);
    message = zmsg_recv(sub);
    cr_assert_eq(zmsg_size(message), 9);
    zmsg_destroy(&message);
    message = zmsg_recv(sub);
    zmsg_destroy(&message);
    cr_assert_eq(iopub_unsent(&iopub), 0, "%zu", iopub_unsent(&iopub));

    zsock_destroy(&sub);
    zsock_destroy(&xpub);
    zsys_shutdown();
    iopub_release(&iopub);
}

Test(iopub, a_subscriber_that_takes_nothing_owes_all_until_its_end)
{
    enum { MESSAGES = 40 };
    size_t size = (size_t)1 << 20;
    char *content = large(size);
    char endpoint[CONNECTION_ENDPOINT_MAX];
    struct stage stage;
    zsock_t *lazy;

    stage_init(&stage);
    connection_endpoint(&stage.kernel->connection, CHANNEL_IOPUB, endpoint, sizeof endpoint);
    lazy = zsock_new(ZMQ_SUB);
    zsock_set_linger(lazy, 0);
    zsock_set_rcvhwm(lazy, 1);
    zsock_set_rcvbuf(lazy, 4096);
    zsock_set_subscribe(lazy, "blob");
    cr_assert(zsock_connect(lazy, "%s", endpoint) == 0);
    stage_expect(&stage, CHANNEL_IOPUB, "iopub_welcome", "", "{\"subscription\":\"blob\"}");
    for (int i = 0; i < MESSAGES; i++) {
        struct slice both[2] = {slice_of("{}"), slice_of(content)};
        struct iopub *iopub = &stage.kernel->iopub;

        snprintf(iopub->prefix, sizeof iopub->prefix, "blob.");
        iopub_publish(iopub, "x", NULL, both[0], both[1]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        expect_size(&stage, "x", size);
    }
    cr_assert_gt(iopub_unsent(&stage.kernel->iopub), IOPUB_BACKLOG_MAX / 2);
    free(content);
    zsock_destroy(&lazy);
    stage_release(&stage);
}

Test(iopub, topics_are_those_that_tools_filter_by)
{
    static const struct {
        const char *type, *content, *topic; /* "*": kernel.<session>.<type> */
    } rows[] = {
        {"stream", "{\"name\":\"stdout\",\"text\":\"\"}", "stream.stdout"},
        {"stream", "{\"name\":\"stderr\",\"text\":\"\"}", "stream.stderr"},
        {"stream", "{}", "stream.stdout"},
        {"display_data", "{}", "display_data"},
        {"update_display_data", "{}", "display_data"},
        {"clear_output", "{}", "display_data"},
        {"status", "{}", "*"},
        {"error", "{\"name\":\"stderr\"}", "*"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[128];
        struct told told;

        (void)snprintf(wanted, sizeof wanted, "kernel.%s.%s", stage.kernel->session.id,
                       rows[i].type);
        publish(&stage, rows[i].type, rows[i].content);
        stage_receive(&stage, CHANNEL_IOPUB, &told);
        cr_assert(
            zframe_streq(zmsg_first(told.frames), rows[i].topic[0] == '*' ? wanted : rows[i].topic),
            "%s", rows[i].type);
        told_release(&told);
    }
    stage_release(&stage);
}

Test(iopub, each_subscription_is_welcomed_under_its_own_topic)
{
    static const char *const topics[] = {"", "stream", "ä\"\\", "stream"};
    struct stage stage;
    zsock_t *sub;

    stage_init(&stage);
    sub = stage_connect(&stage, CHANNEL_IOPUB, ZMQ_SUB, NULL);
    for (size_t i = 1; i < sizeof topics / sizeof topics[0]; i++) {
        struct buffer wanted = BUFFER_INIT;
        struct told told;

        zsock_set_subscribe(sub, topics[i]);
        stage_receive_at(&stage, sub, &told);
        cr_assert_str_eq(told.type, "iopub_welcome");
        cr_assert_str_eq(told.parent, "");
        cr_assert(zframe_streq(zmsg_first(told.frames), topics[i]));
        buffer_put_text(&wanted, "{\"subscription\":");
        json_put_string(&wanted, slice_of(topics[i]));
        buffer_put_text(&wanted, "}");
        cr_assert(slice_is(buffer_slice(&wanted), told.content), "%s", told.content);
        buffer_release(&wanted);
        told_release(&told);
    }
    zsock_destroy(&sub);
    stage_release(&stage);
}

Test(iopub, frames_that_are_no_subscription_are_passed_over)
{
    static const struct {
        const char *bytes;
        size_t n;
    } frames[] = {
        {"", 0},               /* nothing */
        {"\0a", 2},            /* the end of one that never began */
        {"\2a", 2},            /* some other word */
        {"hello", 5},          /* a peer's own idea */
        {"\1\xff\xfe", 3},     /* a topic that JSON cannot tell */
        {"\1\xed\xa0\x80", 4}, /* a surrogate is no UTF-8 */
    };
    struct stage stage;
    struct told told;
    zsock_t *peer; /* XSUB: what it sends are the frames */

    stage_init(&stage);
    peer = stage_connect(&stage, CHANNEL_IOPUB, ZMQ_XSUB, NULL);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        zframe_t *frame = zframe_new(frames[i].bytes, frames[i].n);

        cr_assert(zframe_send(&frame, peer, 0) == 0);
    }
    cr_assert(zmq_send(zsock_resolve(peer), "\1good", 5, 0) == 5);
    /* The first subscriber, to everything, sees all welcomes: there is only one. */
    stage_receive(&stage, CHANNEL_IOPUB, &told);
    cr_assert(zframe_streq(zmsg_first(told.frames), "good"), "%s", told.content);
    told_release(&told);
    zsock_destroy(&peer);
    stage_release(&stage);
}
