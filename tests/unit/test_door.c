/*
 * Tests of kernel/door.c and door_records.c: what each record does, what breaks the format,
 * and when it pauses.
 */

#include <sys/mman.h>

#include "kernel/door_records.h"
#include "kernel_fixture.h"

Test(door, ready_tells_the_version_and_lets_requests_through)
{
    struct stage stage;

    stage_init(&stage);
    cr_assert_eq(stage.kernel->worker, WORKER_STARTING);
    stage_execute(&stage, "{\"code\":\"x\"}");
    stage_say_ready(&stage);
    stage_expect_request(&stage, 1, 1);
    cr_assert_eq(stage.kernel->worker, WORKER_READY);
    cr_assert_str_eq(stage.kernel->python_version, "3.11.7");
    stage_release(&stage);
}

Test(door, records_become_messages_in_their_order)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"x\",\"silent\":true}");
    stage_expect_request(&stage, 1, 1);
    stage_expect_status(&stage, "m1", "busy");
    stage_say_text(&stage, 1, "a");
    stage_say_text(&stage, 1, "b");
    stage_say(&stage, LINK_PUBLISH, 1,
              (struct slice[]){slice_of("display_data"), slice_of("{\"m\":1}"),
                               slice_of("{\"data\":{}}"), slice_of("buffer 1"), slice_of("")},
              5);
    stage_say_text(&stage, 1, "c");
    stage_say_done(&stage, 1, "ok");
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "\"text\":\"ab\"");
    struct told told;
    stage_receive(&stage, CHANNEL_IOPUB, &told);
    cr_assert_str_eq(told.type, "display_data");
    cr_assert_str_eq(told.content, "{\"data\":{}}");
    zframe_t *frame = zmsg_first(told.frames);
    for (int i = 0; i < 7; i++) {
        frame = zmsg_next(told.frames);
    }
    cr_assert(zframe_streq(frame, "buffer 1"));
    told_release(&told);
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "\"text\":\"c\"");
    stage_expect_status(&stage, "m1", "idle");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1", "ok");
    stage_release(&stage);
}

Test(door, text_of_old_and_unknown_requests_and_of_the_pipes_belongs_to_the_last_cell)
{
    static const uint64_t numbers[] = {0, 7, 1};
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"x\",\"silent\":true}");
    stage_expect_request(&stage, 1, 1);
    stage_expect_status(&stage, "m1", "busy");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        stage_say_text(&stage, numbers[i], "ring");
        stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "ring");
    }
    cr_assert(write(stage.stdio[1], "pipe", 4) == 4);
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "{\"name\":\"stderr\",\"text\":\"pipe\"}");
    stage_release(&stage);
}

/* A cell, m1: from now on there is something that text belongs to. */
static void start_cell(struct stage *stage)
{
    stage_execute(stage, "{\"code\":\"1\"}");
    stage_expect_request(stage, 1, 1);
    stage_expect_status(stage, "m1", "busy");
    stage_expect(stage, CHANNEL_IOPUB, "execute_input", "m1", "1");
    atomic_store(&stage->worker.memory.page->running, 1);
}

Test(door, text_before_the_first_cell_is_not_published)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_say_text(&stage, 0, "early");
    door_drain(stage.kernel);
    cr_assert_eq(stage.kernel->early_text, strlen("early"), "it was logged");
    start_cell(&stage);
    stage_say_text(&stage, 1, "text");
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "\"text\"");
    stage_release(&stage);
}

Test(door, what_is_written_before_python_is_ready_is_kept_up_to_a_bound)
{
    static char block[20000];
    struct stage stage;

    stage_init(&stage);
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 5; i++) {
        cr_assert(write(stage.stdio[i % 2], block, sizeof block) == sizeof block);
        door_drain(stage.kernel);
    }
    cr_assert_gt(stage.kernel->start_text.n, 0);
    cr_assert_leq(stage.kernel->start_text.n, DOOR_START_TEXT_MAX);
    stage_say_ready(&stage);
    door_drain(stage.kernel);
    cr_assert_eq(stage.kernel->start_text.n, 0, "it was logged");
    stage_release(&stage);
}

/* ---- breaches ----------------------------------------------------------------------- */

#define PART(text)                                                                                 \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }
#define SERIAL PART("12345678")
#define LONG_TYPE                                                                                  \
    PART("0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"   \
         "5678901234567890123456789012345678901234567")

static const struct {
    const char *name;
    uint32_t kind;
    bool raw; /* the first part is the whole payload */
    size_t count;
    struct slice part[4];
} breaches[] = {
    {"no parts", LINK_READY, true, 1, {PART("")}},
    {"half a frame", LINK_PUBLISH, true, 1, {PART("\1\0\0\0\0\0\0\0\377")}},
    {"READY without a version", LINK_READY, false, 0, {{NULL, 0}}},
    {"PUBLISH without content", LINK_PUBLISH, false, 2, {PART("t"), PART("{}")}},
    {"PUBLISH of a type too long", LINK_PUBLISH, false, 3, {LONG_TYPE, PART("{}"), PART("{}")}},
    {"ASK without content", LINK_ASK, false, 1, {SERIAL}},
    {"ASK with a short serial", LINK_ASK, false, 2, {PART("1234567"), PART("{}")}},
    {"ASK with a long serial", LINK_ASK, false, 2, {PART("123456789"), PART("{}")}},
    {"LOOKUP without a msg_id", LINK_LOOKUP, false, 2, {SERIAL, PART("control")}},
    {"LOOKUP with a short serial", LINK_LOOKUP, false, 3, {PART("1"), PART("control"), PART("")}},
    {"HISTORY of a kind unknown", LINK_HISTORY, false, 1, {PART("what")}},
    {"HISTORY with no text", LINK_HISTORY, false, 1, {PART("source")}},
    {"HISTORY with half a place", LINK_HISTORY, false, 2, {PART("place"), PART("/h")}},
    {"DONE without a status", LINK_DONE, false, 2, {PART("{\"a\":1}"), PART("{}")}},
    {"DONE with an empty content", LINK_DONE, false, 3, {PART("{}"), PART("{}"), PART("ok")}},
    {"DONE that is no object", LINK_DONE, false, 3, {PART("[1]"), PART("{}"), PART("ok")}},
    {"DONE that is no JSON", LINK_DONE, false, 3, {PART("{\"a\":"), PART("{}"), PART("ok")}},
    {"DONE with wrong metadata", LINK_DONE, false, 3, {PART("{\"a\":1}"), PART("1"), PART("ok")}},
};

/* The worker breaks the format in a cell: it is killed, and the cell is told so. */
static void expect_end_of_worker(struct stage *stage, const char *name)
{
    stage_expect(stage, CHANNEL_SHELL, "execute_reply", "m1",
                 "Python was ended by the kernel: it had broken the format");
    cr_assert(stage->kernel->door_corrupt, "%s", name);
    stage_run_to_the_end(stage);
    cr_assert_eq(stage->kernel->exit_status, -SIGKILL, "%s", name);
    cr_assert_eq(stage->kernel->supervisor.pid, 0, "%s", name);
}

Test(door, each_breach_of_the_format_ends_the_worker_and_not_the_kernel)
{
    for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
        struct stage stage;

        stage_init_ready(&stage);
        stage_worker(&stage, NULL);
        stage_execute(&stage, "{\"code\":\"x\"}");
        stage_expect_request(&stage, 1, 1);
        if (breaches[i].raw) {
            cr_assert(link_producer_write(&stage.worker, breaches[i].kind, 1, breaches[i].part, 1,
                                          NULL) == 0);
        } else {
            stage_say(&stage, breaches[i].kind, 1, breaches[i].part, breaches[i].count);
        }
        stage_say_text(&stage, 1, "nothing of this is believed");
        expect_end_of_worker(&stage, breaches[i].name);
        stage_release(&stage);
    }
}

Test(door, a_ring_that_goes_back_ends_the_worker)
{
    struct stage stage;
    uint64_t one = 1;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    stage_execute(&stage, "{\"code\":\"x\"}");
    stage_expect_request(&stage, 1, 1);
    atomic_store(&stage.worker.memory.page->head, 0);
    cr_assert(write(stage.worker.fds.bell, &one, sizeof one) == sizeof one);
    expect_end_of_worker(&stage, "head");
    stage_release(&stage);
}

Test(door, a_question_before_any_cell_ends_the_worker)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    stage_say_ask(&stage, 0, 1, "{}");
    stage_run_to_the_end(&stage);
    cr_assert(stage.kernel->door_corrupt);
    stage_release(&stage);
}

/* ---- pauses --------------------------------------------------------------------------- */

/* While the message is being signed a request comes. */
static void ask_meanwhile(void *arg)
{
    struct stage *stage = arg;
    zmq_pollitem_t item = {.socket = sockets_handle(&stage->kernel->sockets, CHANNEL_CONTROL),
                           .events = ZMQ_POLLIN};

    stage_send(stage, CHANNEL_CONTROL, "connect_request", "{}");
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    stage_on_busy(stage);
}

Test(door, records_behind_a_large_message_wait_until_it_is_signed_and_requests_do_not)
{
    size_t size = 128 * (size_t)IOPUB_SLICE; /* a timer of 0 ms may fire again within its ms */
    char *content = malloc(size);
    struct stage stage;
    struct told told;

    stage_init_ready(&stage);
    start_cell(&stage);
    stage.kernel->iopub.on_busy = ask_meanwhile;
    memset(content, ' ', size);
    content[0] = '{';
    content[size - 1] = '}';
    stage_say(&stage, LINK_PUBLISH, 0,
              (struct slice[]){slice_of("big"), slice_of("{}"), {(const uint8_t *)content, size}},
              3);
    stage_say_text(&stage, 0, "behind");
    stage_receive(&stage, CHANNEL_IOPUB, &told);
    cr_assert_str_eq(told.type, "big");
    told_release(&told);
    stage_expect_status(&stage, "m2", "busy");
    stage_expect_status(&stage, "m2", "idle");
    stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "behind");
    free(content);
    stage_release(&stage);
}

Test(door, a_backlog_stops_the_worker_and_its_end_lets_it_go_on)
{
    struct stage stage;

    stage_init_ready(&stage);
    start_cell(&stage);
    atomic_fetch_add(&stage.kernel->iopub.unsent, IOPUB_BACKLOG_MAX + 1);
    stage_say_text(&stage, 0, "text");
    stage_turn(&stage);
    while (stage.kernel->watched[0] != -1) {
        stage_turn(&stage);
    }
    for (int i = 0; i < 5; i++) {
        stage_turn(&stage); /* requests are answered meanwhile */
    }
    cr_assert_not(output_waits(&stage.kernel->output));
    cr_assert_eq(stage.kernel->output.text.n, 0);
    cr_assert_gt(atomic_load(&stage.worker.memory.page->head),
                 atomic_load(&stage.worker.memory.page->tail), "it is not taken");
    atomic_fetch_sub(&stage.kernel->iopub.unsent, IOPUB_BACKLOG_MAX + 1);
    for (bool text = false; !text;) {
        struct told told;

        stage_receive(&stage, CHANNEL_IOPUB, &told);
        text = strstr(told.content, "\"text\":\"text\"") != NULL;
        told_release(&told);
    }
    stage_release(&stage);
}

Test(door, control_is_answered_in_the_middle_of_a_flood)
{
    enum { RECORDS = 100000 };
    struct stage stage;
    uint64_t head;

    stage_init_ready(&stage);
    for (int i = 0; i < RECORDS; i++) {
        struct slice text = slice_of("a line\n");

        cr_assert(link_producer_write(&stage.worker, LINK_STREAM, 0, &text, 1, NULL) == 0);
    }
    head = atomic_load(&stage.worker.memory.page->head);
    stage_turn(&stage);
    cr_assert_lt(atomic_load(&stage.worker.memory.page->tail), head, "the flood is not over");
    door_drain(stage.kernel);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->tail), head);
    stage_release(&stage);
}

Test(door, requests_that_the_socket_does_not_take_are_sent_when_it_does)
{
    const size_t size = LINK_STREAM_MAX / 2;
    uint64_t answers = 0;
    struct link_request *request;
    struct stage stage;
    uint8_t *bytes = malloc(size);

    stage_init_ready(&stage);
    memset(bytes, 'x', size);
    while (link_sender_queued(&stage.kernel->sender) == 0) {
        door_send(stage.kernel, LINK_ANSWER, 0, ++answers, &(struct slice){bytes, size}, 1);
    }
    cr_assert(stage.kernel->sender_watched);
    for (uint64_t i = 1; i <= answers; i++) {
        request = stage_take(&stage, LINK_ANSWER, i);
        cr_assert_eq(request->parts.part[0].n, size);
        link_request_destroy(&request);
    }
    while (stage.kernel->sender_watched) {
        stage_turn(&stage);
    }
    cr_assert_eq(link_sender_queued(&stage.kernel->sender), 0);
    free(bytes);
    stage_release(&stage);
}

static uint32_t attention(const struct stage *stage)
{
    return atomic_load(&stage->worker.memory.page->attention);
}

Test(door, it_is_looked_at_by_timer_after_text_and_not_after_the_end_of_a_cell)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"x\"}");
    stage_expect_request(&stage, 1, 1);
    while (stage.kernel->door_timer != -1 || attention(&stage) == LINK_AWAKE) {
        stage_turn(&stage); /* READY is a while ago, and the answer was waited for in vain */
    }
    cr_assert_eq(attention(&stage), LINK_ASLEEP);
    stage_say_done(&stage, 1, "ok");
    door_start(stage.kernel);
    cr_assert_eq(lane_running(&stage.kernel->lane), 0);
    while (attention(&stage) == LINK_AWAKE) {
        stage_turn(&stage); /* where others had the processor for the whole slice */
    }
    cr_assert_eq(attention(&stage), LINK_ASLEEP);
    cr_assert_eq(stage.kernel->door_timer, -1);
    do {
        stage_say_text(&stage, 1, "from a thread");
        door_start(stage.kernel);
    } while (attention(&stage) == LINK_AWAKE);
    cr_assert_eq(attention(&stage), LINK_DOZING);
    cr_assert_neq(stage.kernel->door_timer, -1);
    stage_release(&stage);
}
