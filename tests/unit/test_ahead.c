/* Tests of kernel/ahead.c: comm messages that go ahead of what waits, and what clients see of them.
 */

#include "kernel_fixture.h"

#define COMM "{\"comm_id\":\"c\",\"data\":{}}"

static size_t ahead_count(const struct stage *stage)
{
    return stage->kernel->lane.ahead.waiting[JOB_COMM];
}

/* A cell runs, with number 1 and id m1; its busy and execute_input are seen. */
static void run_cell(struct stage *stage)
{
    stage_init_ready(stage);
    stage_execute(stage, "{\"code\":\"x\"}");
    stage_expect_request(stage, 1, 1);
    stage_expect_status(stage, "m1", "busy");
    stage_expect(stage, CHANNEL_IOPUB, "execute_input", "m1", "");
}

static void send_comms(struct stage *stage, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        stage_send(stage, CHANNEL_SHELL, "comm_msg", COMM);
    }
}

static void expect_comm(struct stage *stage, uint64_t number)
{
    struct link_request *request = stage_take(stage, LINK_COMM, 0);

    cr_assert_eq(request->number, number);
    cr_assert_eq(request->count, 0);
    cr_assert(slice_is(request->parts.part[0], "comm_msg"));
    cr_assert(slice_is(request->parts.part[3], COMM));
    link_request_destroy(&request);
}

static void begin(struct stage *stage, uint64_t number)
{
    stage_say(stage, LINK_BEGIN, number, NULL, 0);
}

/* What is written to fd 1 now has this parent. */
static void expect_word(struct stage *stage, const char *id)
{
    cr_assert_eq(write(stage->stdio[0], "word\n", 5), 5);
    stage_expect(stage, CHANNEL_IOPUB, "stream", id, "word");
}

Test(ahead, it_is_busy_when_the_worker_begins_and_has_the_word_until_it_is_done)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, 2);
    expect_comm(&stage, 2);
    expect_comm(&stage, 3);
    expect_word(&stage, "m1");
    begin(&stage, 2);
    stage_expect_status(&stage, "m2", "busy");
    expect_word(&stage, "m2");
    begin(&stage, 3); /* the first one's handler lets it */
    stage_expect_status(&stage, "m3", "busy");
    expect_word(&stage, "m3");
    stage_say_done(&stage, 3, "ok");
    stage_expect_status(&stage, "m3", "idle");
    expect_word(&stage, "m2");
    stage_say_done(&stage, 2, "error");
    stage_expect_status(&stage, "m2", "idle");
    expect_word(&stage, "m1");
    cr_assert_eq(lane_running(&stage.kernel->lane), 1);
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "idle");
    expect_word(&stage, "m1");
    stage_release(&stage);
}

Test(ahead, what_is_left_follows_the_cell_before_all_else)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, 2);
    expect_comm(&stage, 2);
    expect_comm(&stage, 3);
    stage_execute(&stage, "{\"code\":\"y\"}");
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "idle");
    cr_assert_eq(lane_running(&stage.kernel->lane), 2, "an interrupt would be its");
    begin(&stage, 2);
    stage_expect_status(&stage, "m2", "busy");
    stage_say_done(&stage, 2, "ok");
    stage_expect_status(&stage, "m2", "idle");
    cr_assert_eq(lane_running(&stage.kernel->lane), 3);
    begin(&stage, 3);
    stage_say_done(&stage, 3, "ok");
    stage_expect_status(&stage, "m3", "busy");
    stage_expect_status(&stage, "m3", "idle");
    stage_expect_request(&stage, 4, 2);
    stage_release(&stage);
}

Test(ahead, all_go_ahead_while_a_cell_awaits)
{
    struct stage stage;

    run_cell(&stage);
    stage_execute(&stage, "{\"code\":\"y\"}");
    send_comms(&stage, 1);
    begin(&stage, 1);
    expect_comm(&stage, 2);
    send_comms(&stage, 1); /* one that comes later, too */
    expect_comm(&stage, 3);
    cr_assert_eq(ahead_count(&stage), 2);
    cr_assert_eq(lane_running(&stage.kernel->lane), 1);
    stage_release(&stage);
}

Test(ahead, none_goes_ahead_of_a_cell_that_stands_before_it)
{
    struct link_request *request;
    struct stage stage;

    run_cell(&stage);
    stage_execute(&stage, "{\"code\":\"y\"}");
    stage_send(&stage, CHANNEL_SHELL, "inspect_request", "{\"code\":\"a\"}");
    send_comms(&stage, 1);
    while (stage.kernel->lane.queue.waiting[JOB_COMM] == 0) {
        stage_turn(&stage);
    }
    cr_assert_eq(link_reader_poll(&stage.reader, LINK_COMM, 0, &request), -EAGAIN);
    stage_say_done(&stage, 1, "ok");
    stage_expect_request(&stage, 2, 2); /* that cell runs: now it may, before the inspection */
    expect_comm(&stage, 3);
    stage_release(&stage);
}

Test(ahead, a_wrong_one_waits_for_its_turn_and_holds_nobody_up)
{
    struct stage stage;

    run_cell(&stage);
    stage_send(&stage, CHANNEL_SHELL, "comm_msg", "{\"comm_id\":1}");
    send_comms(&stage, 1);
    expect_comm(&stage, 2);
    begin(&stage, 2);
    stage_say_done(&stage, 2, "ok");
    stage_expect_status(&stage, "m3", "busy");
    stage_expect_status(&stage, "m3", "idle");
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "idle");
    stage_expect_status(&stage, "m2", "busy");
    stage_expect_status(&stage, "m2", "idle");
    stage_release(&stage);
}

Test(ahead, the_worker_has_only_so_many_at_once)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, AHEAD_MAX + 2);
    while (stage.kernel->lane.queue.waiting[JOB_COMM] < 2) {
        stage_turn(&stage);
    }
    cr_assert_eq(ahead_count(&stage), AHEAD_MAX);
    for (uint64_t number = 2; number < AHEAD_MAX + 2; number++) {
        expect_comm(&stage, number);
    }
    begin(&stage, 2);
    stage_say_done(&stage, 2, "ok");
    expect_comm(&stage, AHEAD_MAX + 2);
    cr_assert_eq(ahead_count(&stage), AHEAD_MAX);
    cr_assert_eq(stage.kernel->lane.queue.waiting[JOB_COMM], 1);
    stage_release(&stage);
}

Test(ahead, the_worker_has_only_so_many_bytes_at_once_and_one_that_is_larger)
{
    struct stage stage;

    run_cell(&stage);
    stage.kernel->lane.ahead.bytes = AHEAD_BYTES_MAX; /* as one that is larger would leave it */
    send_comms(&stage, 1);
    expect_comm(&stage, 2);
    send_comms(&stage, 1);
    while (stage.kernel->lane.queue.waiting[JOB_COMM] == 0) {
        stage_turn(&stage);
    }
    begin(&stage, 2);
    stage.kernel->lane.ahead.bytes -= AHEAD_BYTES_MAX;
    stage_say_done(&stage, 2, "ok");
    expect_comm(&stage, 3);
    stage_release(&stage);
}

Test(ahead, nobody_is_disturbed_by_what_begins_or_ends_and_is_not_there)
{
    struct stage stage;

    run_cell(&stage);
    begin(&stage, 7);
    begin(&stage, 1); /* it has begun */
    send_comms(&stage, 1);
    expect_comm(&stage, 2);
    begin(&stage, 2);
    begin(&stage, 2);
    stage_say_done(&stage, 2, "ok");
    begin(&stage, 2);
    stage_expect_status(&stage, "m2", "busy");
    stage_expect_status(&stage, "m2", "idle");
    expect_word(&stage, "m1");
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "idle");
    stage_release(&stage);
}

Test(ahead, one_that_never_began_is_busy_and_idle_when_it_is_done)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, 2);
    expect_comm(&stage, 2);
    expect_comm(&stage, 3);
    stage_say_done(&stage, 2, "ok");
    stage_expect_status(&stage, "m2", "busy");
    stage_expect_status(&stage, "m2", "idle");
    stage_say_done(&stage, 1, "ok");
    stage_expect_status(&stage, "m1", "idle");
    stage_say_done(&stage, 3, "ok"); /* it has followed the cell */
    stage_expect_status(&stage, "m3", "busy");
    stage_expect_status(&stage, "m3", "idle");
    stage_release(&stage);
}

Test(ahead, a_worker_that_dies_leaves_none_without_idle)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, 3);
    for (uint64_t number = 2; number <= 4; number++) {
        expect_comm(&stage, number);
    }
    begin(&stage, 2);
    stage_expect_status(&stage, "m2", "busy");
    lane_die(stage.kernel, "KernelDied", "gone", NULL);
    stage_expect_status(&stage, "m2", "idle");
    for (int i = 3; i <= 4; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "m%d", i);
        stage_expect_status(&stage, id, "busy");
        stage_expect_status(&stage, id, "idle");
    }
    stage_expect(&stage, CHANNEL_IOPUB, "error", "m1", "gone");
    stage_expect_status(&stage, "m1", "idle");
    cr_assert_eq(ahead_count(&stage), 0);
    cr_assert_eq(lane_running(&stage.kernel->lane), 0);
    stage_release(&stage);
}

Test(ahead, the_end_of_the_kernel_is_that_of_those_that_have_not_begun)
{
    struct stage stage;

    run_cell(&stage);
    send_comms(&stage, 2);
    expect_comm(&stage, 2);
    expect_comm(&stage, 3);
    begin(&stage, 2);
    stage_expect_status(&stage, "m2", "busy");
    lane_abort(stage.kernel);
    stage_expect_status(&stage, "m3", "busy");
    stage_expect_status(&stage, "m3", "idle");
    stage_say_done(&stage, 2, "ok");
    stage_expect_status(&stage, "m2", "idle");
    cr_assert_eq(ahead_count(&stage), 0);
    stage_release(&stage);
}

Test(ahead, a_cell_keeps_its_name_however_many_come)
{
    enum { ROUNDS = ORIGINS_KEPT / AHEAD_MAX + 1 }; /* 5,120 of them */
    struct stage stage;
    uint64_t number = 2;

    run_cell(&stage);
    for (int i = 0; i < ROUNDS; i++) {
        send_comms(&stage, AHEAD_MAX);
        for (int j = 0; j < AHEAD_MAX; j++, number++) {
            char id[16];

            (void)snprintf(id, sizeof id, "m%u", (unsigned)number);
            expect_comm(&stage, number);
            begin(&stage, number);
            stage_say_done(&stage, number, "ok");
            stage_expect_status(&stage, id, "busy");
            stage_expect_status(&stage, id, "idle");
        }
    }
    send_comms(&stage, 1);
    expect_comm(&stage, number);
    begin(&stage, number);
    stage_say_text(&stage, 1, "a thread of the cell");
    stage_expect_status(&stage, "m5122", "busy");
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "a thread of the cell");
    stage_release(&stage);
}
