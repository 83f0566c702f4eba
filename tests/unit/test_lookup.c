/* Tests of kernel/lookup.c: what Python is told of requests. */

#include "kernel_fixture.h"

/* Asks as the worker does. The answer has that start and that end. */
static void expect_answer(struct stage *stage, const char *kind, const char *msg_id,
                          const char *start, const char *end)
{
    static uint64_t serial = 70;
    struct link_request *answer;
    struct slice text;

    serial++;
    stage_say(stage, LINK_LOOKUP, 0,
              (struct slice[]){
                  {(const uint8_t *)&serial, sizeof serial}, slice_of(kind), slice_of(msg_id)},
              3);
    answer = stage_take(stage, LINK_ANSWER, serial);
    cr_assert_eq(answer->parts.count, 2);
    cr_assert(slice_is(answer->parts.part[0], "ok"));
    text = answer->parts.part[1];
    cr_assert(text.n >= strlen(start) + strlen(end), "%.*s", (int)text.n, (const char *)text.p);
    cr_expect(memcmp(text.p, start, strlen(start)) == 0, "%.*s", (int)text.n, (const char *)text.p);
    cr_expect(memcmp(text.p + text.n - strlen(end), end, strlen(end)) == 0, "%.*s", (int)text.n,
              (const char *)text.p);
    link_request_destroy(&answer);
}

Test(lookup, a_request_is_known_by_its_msg_id)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_execute(&stage, "{\"code\":\"x\"}");
    stage_expect_request(&stage, 1, 1);
    expect_answer(&stage, "message", "m1", "{\"number\":1,\"identities\":[\"", "\"}}");
    expect_answer(&stage, "message", "m1", "{\"number\":1,", "}}");
    expect_answer(&stage, "message", "m2", "{}", "");
    expect_answer(&stage, "message", "", "{}", "");
    stage_release(&stage);
}

Test(lookup, the_last_message_of_control_need_not_be_for_python)
{
    struct stage stage;

    stage_init_ready(&stage);
    expect_answer(&stage, "control", "", "{}", "");
    stage_send(&stage, CHANNEL_CONTROL, "connect_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "connect_reply", "m1", "shell_port");
    stage_send(&stage, CHANNEL_SHELL, "kernel_info_request", "{}");
    stage_expect(&stage, CHANNEL_SHELL, "kernel_info_reply", "m2", "ok");
    expect_answer(&stage, "control", "", "{\"number\":0,\"identities\":[\"", "}}");
    expect_answer(&stage, "message", "m1", "{}", "");
    stage_release(&stage);
}
