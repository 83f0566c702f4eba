/* Tests of kernel/input.c: who may answer what, and what is thrown away. */

#include "kernel_fixture.h"

#define ASK "{\"prompt\":\"? \",\"password\":false}"

/* A cell runs, with that number; its busy and execute_input are left in the queue. */
static void start_cell(struct stage *stage, uint64_t number)
{
    stage_init_ready(stage);
    stage_execute(stage, "{\"code\":\"input()\"}");
    stage_expect_request(stage, number, 1);
}

/* The id of the input_request that the client got, of which nothing else is wrong. */
static void expect_asked(struct stage *stage, zsock_t *socket, char ret_parent[STAGE_TEXT])
{
    char id[STAGE_TEXT / 2];
    struct told told;
    zframe_t *header;

    stage_receive_at(stage, socket, &told);
    cr_assert_str_eq(told.type, "input_request");
    cr_assert_str_eq(told.content, ASK);
    header = zmsg_first(told.frames);
    for (int i = 0; i < 2; i++) {
        header = zmsg_next(told.frames);
    }
    stage_member(header, "msg_id", id, sizeof id);
    (void)snprintf(ret_parent, STAGE_TEXT, "{\"msg_id\":\"%s\",\"msg_type\":\"input_request\"}",
                   id);
    told_release(&told);
}

static void reply(struct stage *stage, zsock_t *socket, const char *parent, const char *content)
{
    stage_send_child(stage, socket, "input_reply", parent, content);
}

/* The same, and it has been seen to when this returns. */
static void reply_and_see(struct stage *stage, zsock_t *socket, const char *parent,
                          const char *content)
{
    zmq_pollitem_t item = {.socket = sockets_handle(&stage->kernel->sockets, CHANNEL_STDIN),
                           .events = ZMQ_POLLIN};

    reply(stage, socket, parent, content);
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    stage_turn(stage);
}

Test(input, answers_go_to_the_questions_that_they_name)
{
    char parent[2][STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    stage_say_ask(&stage, 1, 70, ASK);
    stage_say_ask(&stage, 1, 71, ASK);
    expect_asked(&stage, client, parent[0]);
    expect_asked(&stage, client, parent[1]);
    reply(&stage, client, parent[1], "{\"value\":\"second \\ud800\"}");
    stage_expect_answer(&stage, 71, "ok", "\"second \\ud800\"");
    reply(&stage, client, parent[1], "{\"value\":\"twice\"}");
    reply(&stage, client, parent[0], "{\"value\":\"first\"}");
    stage_expect_answer(&stage, 70, "ok", "\"first\"");
    cr_assert_null(stage.kernel->input.first);
    stage_release(&stage);
}

Test(input, without_a_parent_an_answer_goes_to_the_oldest_question)
{
    static const char *const parents[] = {"{}", "null", "{\"msg_id\":1}"};
    char parent[STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    for (uint64_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        stage_say_ask(&stage, 1, 10 + i, ASK);
        expect_asked(&stage, client, parent);
    }
    for (uint64_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        reply(&stage, client, parents[i], "{\"value\":\"v\"}");
        stage_expect_answer(&stage, 10 + i, "ok", "\"v\"");
    }
    stage_release(&stage);
}

Test(input, what_answers_no_open_question_is_dropped)
{
    char parent[STAGE_TEXT];
    struct stage stage;
    zsock_t *client, *other;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    other = stage_connect_stdin(&stage, "other");
    stage_say_ask(&stage, 1, 7, ASK);
    expect_asked(&stage, client, parent);
    reply(&stage, client, "{\"msg_id\":\"an older one\"}", "{\"value\":\"stale\"}");
    reply_and_see(&stage, other, parent, "{\"value\":\"of another client\"}");
    reply_and_see(&stage, other, "{}", "{\"value\":\"of another client\"}");
    stage_send_child(&stage, client, "execute_request", parent, "{\"value\":\"no reply\"}");
    reply(&stage, client, parent, "{\"value\":\"right\"}");
    stage_expect_answer(&stage, 7, "ok", "\"right\"");
    zsock_destroy(&other);
    stage_release(&stage);
}

Test(input, a_reply_that_waits_when_the_question_comes_is_older_than_it)
{
    char parent[STAGE_TEXT];
    zsock_t *client, *kernels;
    struct stage stage;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    kernels = stage.kernel->sockets.socket[CHANNEL_STDIN];
    reply(&stage, client, "{}", "{\"value\":\"stale\"}");
    cr_assert(zstr_send(client, "no message at all") == 0);
    /* Both have arrived, and no loop runs: the question drains them. */
    zmq_pollitem_t item = {.socket = zsock_resolve(kernels), .events = ZMQ_POLLIN};
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    input_ask(stage.kernel, origins_find(&stage.kernel->origins, 1), 7, slice_of(ASK));
    expect_asked(&stage, client, parent);
    reply(&stage, client, "{}", "{\"value\":\"new\"}");
    stage_expect_answer(&stage, 7, "ok", "\"new\"");
    stage_release(&stage);
}

Test(input, an_answer_without_a_value_is_an_error_for_who_asked)
{
    static const char *const contents[] = {"{}", "{\"value\":1}", "[]", "{\"value\":"};
    char parent[STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    for (uint64_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        stage_say_ask(&stage, 1, 20 + i, ASK);
        expect_asked(&stage, client, parent);
        reply(&stage, client, parent, contents[i]);
        stage_expect_answer(&stage, 20 + i, "error", "the input_reply has no 'value'");
    }
    stage_release(&stage);
}

Test(input, a_parent_that_is_no_json_answers_nothing)
{
    static const char *const parents[] = {"", "\"", "{\"msg_id\":\"", "{\"msg_id\":", "[", "7"};
    char parent[STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    stage_say_ask(&stage, 1, 7, ASK);
    expect_asked(&stage, client, parent);
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        reply(&stage, client, parents[i], "{\"value\":\"wrong\"}");
    }
    reply(&stage, client, parent, "{\"value\":\"right\"}");
    stage_expect_answer(&stage, 7, "ok", "\"right\"");
    stage_release(&stage);
}

Test(input, a_withdrawn_question_is_not_answered_any_more)
{
    char parent[3][STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    for (uint64_t i = 0; i < 3; i++) {
        stage_say_ask(&stage, 1, i + 1, ASK);
        expect_asked(&stage, client, parent[i]);
    }
    stage_say_ask(&stage, 1, 99, ""); /* one that never was */
    stage_say_ask(&stage, 1, 3, "");
    stage_say_ask(&stage, 1, 1, "");
    while (stage.kernel->input.first->serial != 2 || stage.kernel->input.first->next) {
        stage_turn(&stage);
    }
    reply(&stage, client, parent[0], "{\"value\":\"late\"}");
    reply(&stage, client, "{}", "{\"value\":\"oldest\"}");
    stage_expect_answer(&stage, 2, "ok", "\"oldest\"");
    /* The end of the list is where it should be: one more can be appended. */
    stage_say_ask(&stage, 1, 4, ASK);
    expect_asked(&stage, client, parent[0]);
    reply(&stage, client, "{}", "{\"value\":\"more\"}");
    stage_expect_answer(&stage, 4, "ok", "\"more\"");
    stage_release(&stage);
}

Test(input, a_client_without_a_stdin_socket_cannot_be_asked)
{
    struct stage stage;

    stage_init_ready(&stage);
    zsock_destroy(&stage.client[CHANNEL_SHELL]);
    stage.client[CHANNEL_SHELL] = stage_connect(&stage, CHANNEL_SHELL, ZMQ_DEALER, "shell only");
    stage_execute(&stage, "{\"code\":\"input()\"}");
    stage_expect_request(&stage, 1, 1);
    stage_say_ask(&stage, 1, 5, ASK);
    stage_expect_answer(&stage, 5, "error",
                        "the client that runs this cell has no stdin channel to answer input()");
    cr_assert_null(stage.kernel->input.first);
    stage_release(&stage);
}

Test(input, questions_and_answers_after_the_end_began_reach_nobody)
{
    char parent[STAGE_TEXT];
    struct stage stage;
    zsock_t *client;

    start_cell(&stage, 1);
    client = stage.client[CHANNEL_STDIN];
    stage_say_ask(&stage, 1, 7, ASK);
    expect_asked(&stage, client, parent);
    stop_begin(stage.kernel, 0);
    reply(&stage, client, parent, "{\"value\":\"late\"}");
    while (stage.kernel->input.first) {
        stage_turn(&stage);
    }
    struct link_request *request;
    cr_assert_eq(link_reader_wait(&stage.reader, LINK_ANSWER, 7, NULL, &request), LINK_ECLOSED);
    stage_release(&stage);
}
