/* kernel/host_inspect.c: variables, and what is refused without asking. */

#include "tests/unit/host_fixture.h"

/* test_variable_inspector_limit_validation_is_local */
Test(host_inspect, limits_are_checked_here)
{
    static const struct {
        const char *json;
        int result, limit;
        const char *text;
    } rows[] = {
        {"1", 0, 1, NULL},
        {" 500 ", 0, 500, NULL},
        {"0", HOST_EVALUE, 0, "between 1 and 500"},
        {"501", HOST_EVALUE, 0, "between 1 and 500"},
        {"-7", HOST_EVALUE, 0, "between 1 and 500"},
        {"99999999999999999999999999", HOST_EVALUE, 0, "between 1 and 500"},
        {"true", HOST_ETYPE, 0, "integer"},
        {"5.0", HOST_ETYPE, 0, "integer"},
        {"1e2", HOST_ETYPE, 0, "integer"},
        {"\"5\"", HOST_ETYPE, 0, "integer"},
        {"null", HOST_ETYPE, 0, "integer"},
        {"[5]", HOST_ETYPE, 0, "integer"},
        {"", HOST_ETYPE, 0, "integer"},
    };
    struct host_variables *variables = NULL;
    struct host_result *result;
    struct host_stage stage;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_error error;
        int limit = 0;

        cr_expect_eq(host_inspect_limit(rows[i].json, &limit, &error), rows[i].result, "%s",
                     rows[i].json);
        cr_expect_eq(limit, rows[i].limit, "%s", rows[i].json);
        cr_expect(!rows[i].text || strstr(error.text, rows[i].text), "%s", error.text);
    }
    /* Nothing is written for one that is refused: the next request is aligned. */
    host_stage_run(&stage, "init; get; cell=$id; show \"$line\"; cat >/dev/null");
    cr_assert_eq(host_inspect(stage.host, 0, &variables, &stage.error), HOST_EVALUE);
    cr_assert_eq(host_inspect(stage.host, 501, &variables, &stage.error), HOST_EVALUE);
    cr_assert_str_eq(host_error_kind(stage.error.code), "ValueError");
    cr_assert_str_eq(host_error_kind(HOST_ETYPE), "TypeError");
    result = host_stage_execute(&stage, "aligned");
    cr_assert(strstr(result->out.p, "\"execute\""), "%s", result->out.p);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host_inspect, an_answer_is_the_one_with_its_id)
{
    struct host_variables *variables = NULL;
    struct host_stage stage;

    host_stage_run(
        &stage,
        "init; get; id2=$id; say '{\"type\":\"log\",\"msg\":\"m\"}'; chunk stray; reply stray; "
        "say '{\"type\":\"variables_response\",\"id\":\"other\",\"variables\":[1]}'; "
        "say '{\"type\":\"variables_response\",\"id\":\"'$id2'\",\"variables\":[{\"name\":\"x\"}],"
        "\"truncated\":true,\"limit\":3,\"error\":\"variable inspection failed closed\"}'; "
        "cat >/dev/null");
    cr_assert_eq(host_inspect(stage.host, 3, &variables, &stage.error), 0, "%s", stage.error.text);
    cr_assert_str_eq(variables->variables.p, "[{\"name\":\"x\"}]");
    cr_assert(variables->truncated);
    cr_assert_eq(variables->limit, 3);
    cr_assert_str_eq(variables->error.p, "variable inspection failed closed");
    cr_assert_eq(host_stale_chunks(stage.host), 1);
    host_variables_destroy(&variables);
    cr_assert_null(variables);
    host_destroy(&stage.host);
}

static void *inspect_busy(void *arg)
{
    struct host_stage *stage = arg;
    struct host_variables *variables = NULL;
    struct host_error error;

    cr_assert_eq(host_inspect(stage->host, 5, &variables, &error), HOST_EBUSY);
    cr_assert(strstr(error.text, "busy"), "%s", error.text);
    cr_assert_str_eq(host_error_kind(error.code), "KernelBusyError");
    return NULL;
}

/* While a cell runs: from another thread, and from the callback itself. */
static void from_callback(void *arg, const char *text, size_t n)
{
    struct host_stage *stage = arg;
    struct host_cell cell = {.code = "nested"};
    struct host_result *result = NULL;
    pthread_t thread;

    (void)text;
    (void)n;
    cr_assert_eq(pthread_create(&thread, NULL, inspect_busy, stage), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    (void)inspect_busy(stage);
    cr_assert_eq(host_execute(stage->host, &cell, &result, NULL), HOST_EBUSY);
    cr_assert_eq(host_restart(stage->host, NULL), HOST_EBUSY);
    cr_assert(host_is_alive(stage->host), "which a refused restart does not kill");
}

/* test_variable_inspector_fails_busy_without_competing_frame_reader, the host's half */
Test(host_inspect, a_running_cell_makes_it_busy_at_once_and_loses_no_frame)
{
    struct host_stage stage;
    struct host_cell cell = {.code = "x", .chunk = from_callback, .arg = &stage};
    struct host_result *result = NULL;

    host_stage_run(&stage, "init; get; chunk started; cell=$id; show done; cat >/dev/null");
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), 0);
    cr_assert_str_eq(result->out.p, "done");
    host_result_destroy(&result);
    host_destroy(&stage.host);
}
