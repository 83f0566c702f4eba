/*
 * Tests of kernel/lane.c and job_queue.c: one at a time, in order; counts; aborts; a worker
 * that cannot answer.
 */

#include "kernel_fixture.h"

static void expect_reply(struct stage *stage, const char *id, const char *fragment)
{
    stage_expect(stage, CHANNEL_SHELL, "execute_reply", id, fragment);
}

Test(lane, requests_run_one_by_one_in_their_order)
{
    struct stage stage;

    stage_init_ready(&stage);
    for (int i = 0; i < 3; i++) {
        stage_execute(&stage, "{\"code\":\"x\"}");
    }
    for (unsigned i = 1; i <= 3; i++) {
        char id[16], count[32];
        struct link_request *request;

        (void)snprintf(id, sizeof id, "m%u", i);
        (void)snprintf(count, sizeof count, "\"execution_count\":%u", i);
        stage_expect_request(&stage, i, i);
        cr_assert_eq(link_reader_poll(&stage.reader, LINK_SHELL, 0, &request), -EAGAIN,
                     "the next one waits");
        cr_assert_eq(lane_running(&stage.kernel->lane), i);
        stage_expect_status(&stage, id, "busy");
        stage_expect(&stage, CHANNEL_IOPUB, "execute_input", id, count);
        stage_say_done(&stage, i, "ok");
        expect_reply(&stage, id, count);
        stage_expect_status(&stage, id, "idle");
    }
    cr_assert_eq(lane_running(&stage.kernel->lane), 0);
    stage_release(&stage);
}

Test(lane, the_worker_gets_the_raw_parts_and_the_buffers)
{
    static const char *const parts[4] = {"{\"msg_id\" :\"raw\",\"msg_type\":\"execute_request\"}",
                                         "{}", "{ \"m\":1 }",
                                         "{\"code\": \"x\\u0031\" , \"more\": [1]}"};
    struct link_request *request;
    struct stage stage;

    stage_init_ready(&stage);
    stage_send_parts(&stage, stage.client[CHANNEL_SHELL], parts, "buffer");
    request = stage_take(&stage, LINK_SHELL, 0);
    cr_assert_eq(request->parts.count, 5);
    cr_assert(slice_is(request->parts.part[0], "execute_request"));
    cr_assert(slice_is(request->parts.part[1], parts[0]));
    cr_assert(slice_is(request->parts.part[2], parts[2]));
    cr_assert(slice_is(request->parts.part[3], parts[3]));
    cr_assert(slice_is(request->parts.part[4], "buffer"));
    link_request_destroy(&request);
    stage_expect_status(&stage, "raw", "busy");
    stage_expect(&stage, CHANNEL_IOPUB, "execute_input", "raw",
                 "{\"code\":\"x\\u0031\",\"execution_count\":1}");
    stage_release(&stage);
}

Test(lane, only_cells_that_count_use_a_number_up)
{
    static const struct {
        const char *content;
        uint32_t shown;    /* the count that Python is given */
        const char *reply; /* the count in the reply */
        bool has_input;
    } rows[] = {
        {"{\"code\":\"a\",\"store_history\":false}", 1, "\"execution_count\":0,", true},
        {"{\"code\":\"a\"}", 1, "\"execution_count\":1,", true},
        {"{\"code\":\"a\",\"silent\":true}", 2, "\"execution_count\":1,", false},
        {"{\"code\":\"\"}", 2, "\"execution_count\":1,", true},
        {"{\"code\":\" \\n\\t\\u0020\"}", 2, "\"execution_count\":1,", true},
        {"{\"code\":\"#\",\"store_history\":null,\"silent\":null}", 2, "\"execution_count\":2,",
         true},
        {"{\"code\":\"a\",\"store_history\":true,\"silent\":true}", 3, "\"execution_count\":2,",
         false},
        {"{\"code\":\"a\"}", 3, "\"execution_count\":3,", true},
    };
    struct stage stage;

    stage_init_ready(&stage);
    for (uint64_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char id[16];

        stage_execute(&stage, rows[i].content);
        (void)snprintf(id, sizeof id, "m%u", stage.sent);
        stage_expect_request(&stage, i + 1, rows[i].shown);
        stage_say_done(&stage, i + 1, "ok");
        expect_reply(&stage, id, rows[i].reply);
        stage_expect_status(&stage, id, "busy");
        if (rows[i].has_input) {
            stage_expect(&stage, CHANNEL_IOPUB, "execute_input", id, "\"code\":");
        }
        stage_expect_status(&stage, id, "idle");
    }
    stage_release(&stage);
}

/* Three cells, the first of which fails; the client's ids of them are m1, m2, m3. */
static void fail_first(struct stage *stage, const char *content)
{
    stage_init_ready(stage);
    stage_execute(stage, content);
    stage_expect_request(stage, 1, 1);
    stage_execute(stage, "{\"code\":\"second\"}");
    stage_execute(stage, "{\"code\":1}");
    while (!stage->kernel->lane.queue.first || !stage->kernel->lane.queue.first->next) {
        stage_turn(stage);
    }
    stage_say_done(stage, 1, "error");
    expect_reply(stage, "m1", "\"status\":\"error\"");
}

Test(lane, an_error_aborts_what_was_sent_before_it)
{
    struct stage stage;

    fail_first(&stage, "{\"code\":\"first\"}");
    expect_reply(&stage, "m2", "{\"execution_count\":1,\"status\":\"aborted\"}");
    expect_reply(&stage, "m3", "{\"execution_count\":1,\"status\":\"aborted\"}");
    stage_execute(&stage, "{\"code\":\"a new decision\"}");
    stage_expect_request(&stage, 2, 2);
    stage_release(&stage);
}

Test(lane, an_error_aborts_what_still_lies_in_the_socket)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"first\"}");
    stage_expect_request(&stage, 1, 1);
    stage_execute(&stage, "{\"code\":\"second\"}");
    zmq_pollitem_t item = {.socket = sockets_handle(&stage.kernel->sockets, CHANNEL_SHELL),
                           .events = ZMQ_POLLIN};
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    lane_done(stage.kernel, 1, slice_of("{\"status\":\"error\"}"), slice_of("{}"),
              slice_of("error"));
    expect_reply(&stage, "m1", "\"status\":\"error\"");
    expect_reply(&stage, "m2", "\"status\":\"aborted\"");
    stage_release(&stage);
}

static size_t waiting(const struct stage *stage)
{
    size_t count = 0;

    for (const struct job *job = stage->kernel->lane.queue.first; job; job = job->next) {
        count++;
    }
    return count;
}

Test(lane, more_than_may_wait_stays_in_the_socket_until_there_is_room)
{
    enum { CELLS = 20, SIZE = 30000, FIT = 5 };
    static char content[SIZE + 16] = "{\"code\":\"";
    struct stage stage;

    memset(content + strlen(content), 'x', SIZE);
    memcpy(content + SIZE, "\"}", 3);
    stage_init_ready(&stage);
    stage.kernel->lane.bytes_max = (size_t)SIZE * FIT;
    for (int i = 0; i < CELLS; i++) {
        stage_execute(&stage, content);
    }
    while (!stage.kernel->shell_held) {
        stage_turn(&stage);
    }
    cr_assert_eq(waiting(&stage), FIT, "and one runs");
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "connect_reply", "m21", "shell_port");
    cr_assert_eq(waiting(&stage), FIT);
    for (unsigned i = 1; i <= CELLS; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "m%u", i);
        while (stage.kernel->lane.current == NULL) { /* it still lies in the socket */
            stage_turn(&stage);
        }
        stage_say_done(&stage, lane_running(&stage.kernel->lane), "ok");
        expect_reply(&stage, id, "\"status\":\"ok\"");
        cr_assert_leq(waiting(&stage), FIT);
    }
    cr_assert_eq(stage.kernel->lane.queue.bytes, 0);
    cr_assert_not(stage.kernel->shell_held);
    stage_release(&stage);
}

Test(lane, a_client_can_say_that_an_error_aborts_nothing)
{
    static const char *const contents[] = {
        "{\"code\":\"first\",\"stop_on_error\":false}",
        "{\"code\":\"first\",\"silent\":true}",
    };

    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        struct stage stage;

        fail_first(&stage, contents[i]);
        stage_expect_request(&stage, 2, i == 0 ? 2 : 1);
        stage_say_done(&stage, 2, "ok");
        expect_reply(&stage, "m2", "\"status\":\"ok\"");
        expect_reply(&stage, "m3", "'code' is no string");
        stage_release(&stage);
    }
}

Test(lane, a_request_of_the_same_run_that_comes_after_the_error_is_aborted)
{
    static const char *const dates[] = {"2001-01-01T00:00:00.000000Z", NULL};

    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        struct buffer header = BUFFER_INIT, now = BUFFER_INIT;
        struct stage stage;

        stage_init_ready(&stage);
        session_put_date(&now);
        buffer_printf(&header,
                      "{\"msg_id\":\"first\",\"msg_type\":\"execute_request\",\"session\":\"s\","
                      "\"date\":\"%.*s\"}",
                      (int)now.n, (const char *)now.p);
        buffer_put_char(&header, '\0');
        stage_send_parts(
            &stage, stage.client[CHANNEL_SHELL],
            (const char *const[]){(const char *)header.p, "{}", "{}", "{\"code\":\"x\"}"}, NULL);
        stage_expect_request(&stage, 1, 1);
        stage_say_done(&stage, 1, "error");
        expect_reply(&stage, "first", "\"status\":\"error\"");
        buffer_clear(&now);
        session_put_date(&now);
        buffer_clear(&header);
        buffer_printf(&header,
                      "{\"msg_id\":\"second\",\"msg_type\":\"execute_request\",\"session\":\"s\","
                      "\"date\":\"%.*s\"}",
                      dates[i] ? (int)strlen(dates[i]) : (int)now.n,
                      dates[i] ? dates[i] : (const char *)now.p);
        buffer_put_char(&header, '\0');
        stage_send_parts(
            &stage, stage.client[CHANNEL_SHELL],
            (const char *const[]){(const char *)header.p, "{}", "{}", "{\"code\":\"x\"}"}, NULL);
        if (dates[i]) {
            expect_reply(&stage, "second", "aborted");
        } else {
            stage_expect_request(&stage, 2, 2);
        }
        buffer_release(&header);
        buffer_release(&now);
        stage_release(&stage);
    }
}

Test(lane, a_wrong_request_is_answered_in_its_turn)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"one\"}");
    stage_execute(&stage, "{\"code\":1}");
    stage_execute(&stage, "{\"code\":\"three\"}");
    stage_expect_request(&stage, 1, 1);
    stage_say_done(&stage, 1, "ok");
    expect_reply(&stage, "m1", "\"execution_count\":1");
    expect_reply(&stage, "m2",
                 "{\"execution_count\":1,\"status\":\"error\",\"ename\":\"ProtocolError\"");
    stage_expect_request(&stage, 2, 2);
    stage_say_done(&stage, 2, "ok");
    expect_reply(&stage, "m3", "\"execution_count\":2");
    stage_release(&stage);
}

Test(lane, an_answer_to_what_does_not_run_is_ignored)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_say_done(&stage, 1, "ok");
    stage_settle(&stage);
    stage_execute(&stage, "{\"code\":\"one\"}");
    stage_expect_request(&stage, 1, 1);
    stage_say_done(&stage, 0, "error");
    stage_say_done(&stage, 2, "exit");
    stage_say_done(&stage, 1, "ok");
    stage_say_done(&stage, 1, "error");
    expect_reply(&stage, "m1", "\"status\":\"ok\"");
    stage_execute(&stage, "{\"code\":\"two\"}");
    stage_expect_request(&stage, 2, 2);
    stage_say_done(&stage, 2, "ok");
    expect_reply(&stage, "m2", "\"status\":\"ok\"");
    cr_assert_not(stage.kernel->stopping);
    stage_release(&stage);
}

Test(lane, facts_of_the_worker_are_added_to_the_metadata_of_the_reply)
{
    static const struct {
        const char *facts, *end;
    } rows[] = {
        {"{}", "},\"status\":\"ok\"}"},
        {"{\"a\":[1]}", ",\"a\":[1]},\"status\":\"ok\"}"},
    };
    struct stage stage;

    stage_init_ready(&stage);
    for (uint64_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum json_kind kind;
        struct told told;
        zframe_t *metadata;

        stage_execute(&stage, "{\"code\":\"x\"}");
        stage_expect_request(&stage, i + 1, (uint32_t)i + 1);
        stage_say(&stage, LINK_DONE, i + 1,
                  (struct slice[]){slice_of("{\"status\":\"ok\"}"), slice_of(rows[i].facts),
                                   slice_of("ok")},
                  3);
        stage_receive(&stage, CHANNEL_SHELL, &told);
        metadata = zmsg_first(told.frames);
        for (int j = 0; j < 4; j++) {
            metadata = zmsg_next(told.frames);
        }
        struct slice text = {zframe_data(metadata), zframe_size(metadata)};
        cr_assert(json_check(text, 10, &kind) == 0 && kind == JSON_OBJECT);
        cr_assert(memmem(text.p, text.n, rows[i].end, strlen(rows[i].end)), "%.*s", (int)text.n,
                  (const char *)text.p);
        told_release(&told);
    }
    stage_release(&stage);
}

Test(lane, what_comes_before_python_is_ready_waits_for_it)
{
    struct link_request *request;
    struct stage stage;

    stage_init(&stage);
    stage_execute(&stage, "{\"code\":\"early\"}");
    while (!stage.kernel->lane.queue.first) {
        stage_turn(&stage);
    }
    cr_assert_eq(link_reader_poll(&stage.reader, LINK_SHELL, 0, &request), -EAGAIN);
    stage_say_ready(&stage);
    stage_expect_request(&stage, 1, 1);
    cr_assert_str_eq(stage.kernel->python_version, "3.11.7");
    stage_release(&stage);
}

Test(lane, where_there_is_no_python_each_cell_is_told_why)
{
    struct stage stage;

    stage_init(&stage);
    stage.kernel->worker = WORKER_BROKEN;
    stage.kernel->start_error = strdup("no \"Python\" here");
    for (int i = 1; i <= 2; i++) {
        char id[16], count[64];

        (void)snprintf(id, sizeof id, "m%d", i);
        (void)snprintf(count, sizeof count, "{\"execution_count\":%d,\"status\":\"error\"", i);
        stage_execute(&stage, "{\"code\":\"x\"}");
        stage_expect_status(&stage, id, "busy");
        stage_expect(&stage, CHANNEL_IOPUB, "execute_input", id, "\"code\":\"x\"");
        stage_expect(&stage, CHANNEL_IOPUB, "error", id,
                     "{\"ename\":\"KernelStartError\",\"evalue\":\"no \\\"Python\\\" here\"");
        stage_expect_status(&stage, id, "idle");
        expect_reply(&stage, id, count);
    }
    stage_release(&stage);
}

Test(lane, a_cell_that_calls_exit_is_answered_and_ends_the_kernel)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"exit()\"}");
    stage_execute(&stage, "{\"code\":\"behind it\"}");
    stage_expect_request(&stage, 1, 1);
    while (!stage.kernel->lane.queue.first) {
        stage_turn(&stage);
    }
    stage_say_done(&stage, 1, "exit");
    expect_reply(&stage, "m1", "\"status\":\"ok\"");
    expect_reply(&stage, "m2", "\"status\":\"aborted\"");
    cr_assert(stage.kernel->stopping);
    cr_assert_eq(stage.kernel->exit_status, 0);
    stage_release(&stage);
}

/* A cell (m1) runs, and a completion (m2) and a comm message (m3) wait behind it. */
static void queue_one_of_each(struct stage *stage)
{
    stage_init_ready(stage);
    stage_execute(stage, "{\"code\":\"first\"}");
    stage_expect_request(stage, 1, 1);
    stage_send(stage, CHANNEL_SHELL, "complete_request", "{\"code\":\"fi\",\"cursor_pos\":2}");
    stage_send(stage, CHANNEL_SHELL, "comm_msg", "{\"comm_id\":\"c\",\"data\":{}}");
    while (!stage->kernel->lane.queue.first || !stage->kernel->lane.ahead.first) {
        stage_turn(stage);
    }
}

/* The comm message, which went ahead. */
static void handle_comm(struct stage *stage)
{
    struct link_request *request = stage_take(stage, LINK_COMM, 0);

    cr_assert_eq(request->number, 2);
    link_request_destroy(&request);
    stage_say(stage, LINK_BEGIN, 2, NULL, 0);
    stage_say_done(stage, 2, "ok");
}

Test(lane, an_error_aborts_cells_and_nothing_else)
{
    struct stage stage;

    queue_one_of_each(&stage);
    stage_say_done(&stage, 1, "error");
    expect_reply(&stage, "m1", "\"status\":\"error\"");
    handle_comm(&stage);
    stage_expect_request(&stage, 3, 2);
    stage_say_done(&stage, 3, "ok");
    stage_expect(&stage, CHANNEL_SHELL, "complete_reply", "m2", "{\"status\":\"ok\"}");
    stage_execute(&stage, "{\"code\":\"next\"}"); /* a comm message has no reply */
    stage_expect_request(&stage, 4, 2);
    stage_release(&stage);
}

Test(lane, a_cell_makes_completions_that_wait_pointless)
{
    struct stage stage;

    queue_one_of_each(&stage);
    stage_execute(&stage, "{\"code\":\"second\"}");
    stage_expect(&stage, CHANNEL_SHELL, "complete_reply", "m2", "\"matches\":[]");
    stage_say_done(&stage, 1, "ok");
    expect_reply(&stage, "m1", "\"status\":\"ok\"");
    handle_comm(&stage);
    stage_expect_request(&stage, 3, 2);
    stage_say_done(&stage, 3, "ok");
    expect_reply(&stage, "m4", "\"execution_count\":2");
    stage_release(&stage);
}

Test(lane, a_cell_interrupts_a_completion_that_runs)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    stage_send(&stage, CHANNEL_SHELL, "complete_request", "{\"code\":\"\",\"cursor_pos\":0}");
    stage_expect_request(&stage, 1, 1);
    stage_execute(&stage, "{\"code\":\"x\"}");
    while (!stage.kernel->lane.queue.first) {
        stage_turn(&stage);
    }
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_number), 1);
    cr_assert_not(stage.kernel->supervisor.interrupt_group, "children are a cell's");
    stage_say_done(&stage, 1, "ok");
    stage_expect(&stage, CHANNEL_SHELL, "complete_reply", "m1", "ok");
    stage_expect_request(&stage, 2, 1);
    stage_release(&stage);
}

/* A shell cell (m1) runs; a shell cell (m2) waits, and two on control (m3, m4) behind it. */
static void queue_on_both(struct stage *stage)
{
    stage_init_ready(stage);
    stage_execute(stage, "{\"code\":\"runs\"}");
    stage_expect_request(stage, 1, 1);
    stage_execute(stage, "{\"code\":\"shell\"}");
    while (waiting(stage) < 1) {
        stage_turn(stage);
    }
    stage_send(stage, CHANNEL_CONTROL, "execute_request", "{\"code\":\"one\"}");
    stage_send(stage, CHANNEL_CONTROL, "execute_request", "{\"code\":\"two\"}");
    while (waiting(stage) < 3) {
        stage_turn(stage);
    }
}

Test(lane, control_goes_before_shell_that_waits_and_is_answered_on_control)
{
    struct stage stage;

    queue_on_both(&stage);
    stage_say_done(&stage, 1, "ok");
    expect_reply(&stage, "m1", "\"execution_count\":1");
    for (unsigned i = 2; i <= 3; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "m%u", i + 1);
        stage_expect_request(&stage, i, i);
        stage_say_done(&stage, i, "ok");
        stage_expect(&stage, CHANNEL_CONTROL, "execute_reply", id, "\"status\":\"ok\"");
    }
    stage_expect_request(&stage, 4, 4);
    stage_execute(&stage, "{\"code\":\"behind it\"}"); /* the queue's end was not lost */
    stage_say_done(&stage, 4, "ok");
    expect_reply(&stage, "m2", "\"execution_count\":4");
    stage_expect_request(&stage, 5, 5);
    stage_release(&stage);
}

Test(lane, an_error_aborts_nothing_of_control)
{
    struct stage stage;

    queue_on_both(&stage);
    stage_say_done(&stage, 1, "error");
    expect_reply(&stage, "m1", "\"status\":\"error\"");
    expect_reply(&stage, "m2", "\"status\":\"aborted\"");
    stage_expect_request(&stage, 2, 2);
    stage_say_done(&stage, 2, "error");
    stage_expect(&stage, CHANNEL_CONTROL, "execute_reply", "m3", "\"status\":\"error\"");
    stage_expect_request(&stage, 3, 3);
    stage_say_done(&stage, 3, "ok");
    stage_expect(&stage, CHANNEL_CONTROL, "execute_reply", "m4", "\"status\":\"ok\"");
    stage_release(&stage);
}
