/* Tests of kernel/requests/ and kernel/reply.c: each type's reply, and busy and idle around it. */

#include <sys/mman.h>

#include "kernel/reply.h"
#include "kernel/requests/requests.h"
#include "kernel_fixture.h"

static const struct {
    const char *type;
    const char *reply;    /* its type; NULL: none */
    const char *fragment; /* of its content */
} rows[] = {
    {"kernel_info_request", "kernel_info_reply", "\"protocol_version\":\"5.5\""},
    {"connect_request", "connect_reply", "\"hb_port\":"},
    {"interrupt_request", "interrupt_reply", "{\"status\":\"ok\"}"},
    {"history_request", "history_reply", "\"status\":"},
    {"comm_info_request", "comm_info_reply", "\"comms\":{}"},
    {"debug_request", "debug_reply", "debug_request is not supported"},
    {"usage_request", "usage_reply", "\"ename\":\"NotImplementedError\""},
    {"create_subshell_request", "create_subshell_reply", "is not supported"},
    {"delete_subshell_request", "delete_subshell_reply", "is not supported"},
    {"list_subshell_request", "list_subshell_reply", "is not supported"},
    /* Those that Python would answer, if they had the fields they need. */
    {"execute_request", "execute_reply", "'code' is missing"},
    {"complete_request", "complete_reply", "'code' is missing"},
    {"inspect_request", "inspect_reply", "'code' is missing"},
    {"is_complete_request", "is_complete_reply", "'code' is missing"},
    {"comm_msg", NULL, NULL},
    {"comm_close", NULL, NULL},
    {"comm_open", NULL, NULL},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

Test(requests, each_type_gets_its_reply_between_busy_and_idle_on_its_own_channel)
{
    static const enum channel channels[] = {CHANNEL_SHELL, CHANNEL_CONTROL};
    struct stage stage;

    stage_init_ready(&stage);
    for (size_t i = 0; i < (size_t)2 * ROWS; i++) {
        enum channel channel = channels[i / ROWS];
        char id[16];

        stage_send(&stage, channel, rows[i % ROWS].type, "{}");
        (void)snprintf(id, sizeof id, "m%u", stage.sent);
        stage_expect_status(&stage, id, "\"busy\"");
        stage_expect_status(&stage, id, "\"idle\"");
        if (rows[i % ROWS].reply) {
            stage_expect(&stage, channel, rows[i % ROWS].reply, id, rows[i % ROWS].fragment);
        }
    }
    stage_release(&stage);
}

Test(requests, content_that_is_no_object_gets_an_error_reply_that_names_the_part)
{
    static const struct {
        const char *part[3];
        const char *fragment;
    } wrong[] = {
        {{"{}", "{}", "[1]"}, "content: not a JSON object"},
        {{"{}", "{}", "{\"a\":"}, "content: "},
        {{"{}", "7", "{}"}, "metadata: not a JSON object"},
        {{"\"x\"", "{}", "{}"}, "parent_header: not a JSON object"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        stage_send_parts(
            &stage, stage.client[CHANNEL_SHELL],
            (const char *const[]){"{\"msg_id\":\"w\",\"msg_type\":\"kernel_info_request\"}",
                                  wrong[i].part[0], wrong[i].part[1], wrong[i].part[2]},
            NULL);
        stage_expect(&stage, CHANNEL_SHELL, "kernel_info_reply", "w", wrong[i].fragment);
        stage_expect_status(&stage, "w", "busy");
        stage_expect_status(&stage, "w", "idle");
    }
    stage_release(&stage);
}

Test(requests, a_shutdown_with_a_wrong_field_ends_nothing)
{
    struct stage stage;

    stage_init(&stage);
    stage_send(&stage, CHANNEL_CONTROL, "shutdown_request", "{\"restart\":1}");
    stage_expect(&stage, CHANNEL_CONTROL, "shutdown_reply", "m1", "'restart' is no boolean");
    stage_expect_status(&stage, "m1", "busy");
    stage_expect_status(&stage, "m1", "idle");
    cr_assert_not(stage.kernel->stopping);
    stage_release(&stage);
}

Test(requests, an_execute_request_with_a_wrong_field_is_told_which)
{
    static const struct {
        const char *content, *fragment;
    } wrong[] = {
        {"{}", "'code' is missing"},
        {"{\"code\":1}", "'code' is no string"},
        {"{\"code\":\"\",\"silent\":1}", "'silent' is no boolean"},
        {"{\"code\":\"\",\"store_history\":\"\"}", "'store_history' is no boolean"},
        {"{\"code\":\"\",\"stop_on_error\":{}}", "'stop_on_error' is no boolean"},
        {"{\"code\":\"\",\"allow_stdin\":0}", "'allow_stdin' is no boolean"},
        {"{\"code\":\"\",\"user_expressions\":[]}", "'user_expressions' is no object"},
        {"{\"code\":\"\",\"user_expressions\":{\"a\":1}}", "has a value that is no string"},
        {"[]", "'content' not a JSON object"},
    };
    struct stage stage;

    stage_init_ready(&stage);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char id[16];

        stage_execute(&stage, wrong[i].content);
        (void)snprintf(id, sizeof id, "m%u", stage.sent);
        stage_expect(&stage, CHANNEL_SHELL, "execute_reply", id, wrong[i].fragment);
        stage_expect_status(&stage, id, "busy");
        stage_expect_status(&stage, id, "idle");
    }
    stage_release(&stage);
}

Test(requests, the_table_knows_whole_names_only)
{
    cr_assert(request_type_find(slice_of("execute_request"))->queued);
    cr_assert_null(request_type_find(slice_of("execute")));
    cr_assert_null(request_type_find(slice_of("execute_request2")));
    cr_assert_null(request_type_find(slice_of("")));
}

Test(reply, a_detail_stands_before_the_line_of_the_error)
{
    static const struct {
        const char *detail, *text;
    } details[] = {
        {NULL, "\"ename\":\"E\",\"evalue\":\"a \\\"b\\\"\",\"traceback\":[\"E: a \\\"b\\\"\"]"},
        {"line\n1", "\"ename\":\"E\",\"evalue\":\"a \\\"b\\\"\",\"traceback\":[\"line\\n1\",\"E: a "
                    "\\\"b\\\"\"]"},
    };

    for (size_t i = 0; i < 2; i++) {
        struct buffer content = BUFFER_INIT;

        reply_put_error(&content, "E", "a \"b\"", details[i].detail);
        cr_assert(slice_is(buffer_slice(&content), details[i].text), "%.*s", (int)content.n,
                  (const char *)content.p);
        buffer_release(&content);
    }
}

Test(reply, the_type_is_the_requests_without_its_suffix)
{
    static const struct {
        const char *request, *reply;
    } types[] = {
        {"x_request", "x_reply"},
        {"x", "x_reply"},
        {"_request", "_request_reply"},
        {"x_request_y", "x_request_y_reply"},
    };
    struct stage stage;

    stage_init(&stage);
    /* Something of the client has to come first: a ROUTER drops what it has no peer for. */
    stage_turn(&stage);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct wire_message *message = calloc(1, sizeof *message);
        char header[STAGE_TEXT];
        struct origin *origin;

        (void)snprintf(header, sizeof header, "{\"msg_id\":\"h\",\"msg_type\":\"%s\"}",
                       types[i].request);
        message->frames = message->identities = 1;
        cr_assert(zmq_msg_init_size(&message->frame[0], 6) == 0);
        memcpy(zmq_msg_data(&message->frame[0]), "client", 6);
        message->header = slice_of(header);
        cr_assert(json_object_get_kind(message->header, "msg_type", JSON_STRING,
                                       &message->msg_type) == 0);
        origin = origin_new(message, CHANNEL_CONTROL);
        reply_send(stage.kernel, origin, slice_of("{}"), slice_of("{\"n\":1}"));
        stage_expect(&stage, CHANNEL_CONTROL, types[i].reply, "h", "{\"n\":1}");
        origin_unref(&origin);
        wire_message_release(message);
        free(message);
    }
    stage_release(&stage);
}

/* ---- more than the door takes ------------------------------------------------------- */

enum { HUGE_FRAME = 1 << 30, HUGE_FRAMES = 3 };

static void keep_memory(void *data, void *hint)
{
    (void)data;
    (void)hint;
}

/* The test's client asks something, with 3 GiB of buffers: reserved, never touched. */
static void ask_hugely(struct stage *stage, void *memory, const char *id, const char *type,
                       const char *content)
{
    struct wire_message *message = calloc(1, sizeof *message);
    struct signer *none; /* as without a key: nothing is signed */
    char header[STAGE_TEXT];
    const char *const frames[] = {"client", "<IDS|MSG>", "", header, "{}", "{}", content};

    (void)snprintf(header, sizeof header, "{\"msg_id\":\"%s\",\"msg_type\":\"%s\"}", id, type);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        zmq_msg_t *frame = &message->frame[message->frames++];

        cr_assert(zmq_msg_init_size(frame, strlen(frames[i])) == 0);
        memcpy(zmq_msg_data(frame), frames[i], strlen(frames[i]));
    }
    for (size_t i = 0; i < HUGE_FRAMES; i++) {
        cr_assert(zmq_msg_init_data(&message->frame[message->frames++], memory, HUGE_FRAME,
                                    keep_memory, NULL) == 0);
    }
    cr_assert(signer_new("hmac-sha256", slice_of(""), &none) == 0);
    cr_assert_eq(wire_open(message, none, stage->kernel->replay), 0);
    struct origin *origin = origin_new(message, CHANNEL_SHELL);
    request_type_find(origin->type)->handle(stage->kernel, origin, message);
    origin_unref(&origin);
    signer_destroy(&none);
    wire_message_release(message);
    free(message);
}

Test(requests, one_above_the_doors_limit_gets_an_error_reply_in_its_turn)
{
    static const char execute[] = "execute_request: more than 2 GiB in all";
    static const char complete[] = "complete_request: more than 2 GiB in all";
    void *memory =
        mmap(NULL, HUGE_FRAME, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct link_request *request;
    struct stage stage;

    cr_assert(memory != MAP_FAILED);
    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"first\"}");
    stage_expect_request(&stage, 1, 1);
    ask_hugely(&stage, memory, "huge", "execute_request", "{\"code\":\"x\"}");
    ask_hugely(&stage, memory, "more", "complete_request", "{\"code\":\"x\",\"cursor_pos\":1}");
    ask_hugely(&stage, memory, "open", "comm_open",
               "{\"comm_id\":\"c\",\"target_name\":\"t\",\"data\":{}}");
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "busy");
    stage_expect(&stage, CHANNEL_IOPUB, "execute_input", "m1", "first");
    stage_expect_status(&stage, "m1", "idle");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1", "ok");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "huge", execute);
    stage_expect(&stage, CHANNEL_SHELL, "complete_reply", "more", complete);
    static const char *const ids[] = {"huge", "more", "open"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        stage_expect_status(&stage, ids[i], "busy");
        stage_expect_status(&stage, ids[i], "idle");
    }
    cr_assert_eq(link_reader_poll(&stage.reader, LINK_SHELL, 0, &request), -EAGAIN);
    stage_send(&stage, CHANNEL_SHELL, "comm_info_request", "{}");
    stage_expect(&stage, CHANNEL_SHELL, "comm_info_reply", "m2", "\"comms\":{}");
    stage_release(&stage);
    (void)munmap(memory, HUGE_FRAME);
}
