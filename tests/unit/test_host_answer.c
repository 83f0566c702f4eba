/* kernel/host_answer.c: calls of the worker, answered. */

#include "tests/unit/host_fixture.h"

/* What the callback got last, and how often. */
static struct {
    char method[64], args[4096], cell[64], generation[128];
    unsigned calls;
} got;

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "(none)");
}

/* Answers by the method's name, as the documents' dispatchers do. */
static void answer(void *arg, const struct host_call *call, struct host_answer *answer)
{
    const char *method = call->method.p;

    (void)arg;
    got.calls++;
    copy(got.method, sizeof got.method, method);
    copy(got.args, sizeof got.args, call->args.p);
    copy(got.cell, sizeof got.cell, call->cell_id.p);
    copy(got.generation, sizeof got.generation, call->generation);
    if (strcmp(method, "soft") == 0) {
        host_answer_data(answer, " {\"error\": \"soft failure\"}", 26);
    } else if (strcmp(method, "siblings") == 0) {
        host_answer_data(answer, "{\"error\":\"x\",\n\"detail\":1}", 25);
    } else if (strcmp(method, "raise") == 0) {
        host_answer_error(answer, "unknown \"method\"");
    } else if (strcmp(method, "broken") == 0) {
        host_answer_data(answer, "{", 1);
    } else if (strcmp(method, "twice") == 0) {
        host_answer_error(answer, "first");
        host_answer_data(answer, "[NaN,123456789012345678901234567890]", 36);
    } else if (strcmp(method, "nothing") != 0) {
        host_answer_data(answer, "\"pong\"", 6);
    }
}

/* Runs a cell that makes one call. -> the answer's line, as a result. */
static struct host_result *call_once(host_dispatch_fn *dispatch, const char *method,
                                     const char *args)
{
    struct host_stage stage;
    struct host_result *result = NULL;
    struct host_cell cell = {.code = "x", .id = "cell-1"};
    char script[1024];

    memset(&got, 0, sizeof got);
    (void)snprintf(script, sizeof script,
                   "init; get; cell=$id; call %s '%s'; get; show \"$line\"; cat >/dev/null", method,
                   args);
    host_stage_init(&stage, script);
    stage.options.dispatch = dispatch;
    cr_assert_eq(host_stage_start(&stage), 0, "%s", stage.error.text);
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), 0, "%s", stage.error.text);
    host_destroy(&stage.host);
    return result;
}

/*
 * test_host_call_roundtrip, _with_args, _error_propagates, _soft_fail_single_key_error_dict,
 * _error_key_with_siblings_is_plain_data, _none_data_roundtrips: the host's half
 */
Test(host_answer, goes_back_as_data_or_error)
{
    static const struct {
        const char *method, *expected;
    } rows[] = {
        {"ping", "\"data\":\"pong\"}"},
        {"soft", "\"error\":\"soft failure\"}"},
        {"siblings", "\"data\":{\"error\":\"x\", \"detail\":1}}"},
        {"raise", "\"error\":\"unknown \\\"method\\\"\"}"},
        {"nothing", "\"data\":null}"},
        {"broken", "\"error\":\"the host's answer is not JSON\"}"},
        {"twice", "\"data\":[NaN,123456789012345678901234567890]}"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_result *result = call_once(answer, rows[i].method, "[{\"nums\": [1, NaN]}]");
        char expected[256];

        (void)snprintf(expected, sizeof expected, "{\"type\":\"host_response\",\"id\":\"hc-1\",%s",
                       rows[i].expected);
        cr_expect_str_eq(result->out.p, expected);
        cr_expect_str_eq(got.method, rows[i].method);
        cr_expect_str_eq(got.args, "[{\"nums\": [1, NaN]}]");
        cr_expect_str_eq(got.cell, "cell-1");
        cr_expect_eq(strncmp(got.generation, "kernel:", 7), 0);
        host_result_destroy(&result);
    }
}

/* test_host_call_without_dispatcher_errors */
Test(host_answer, without_a_dispatcher_says_so)
{
    struct host_result *result = call_once(NULL, "ping", "[]");

    cr_assert_str_eq(result->out.p, "{\"type\":\"host_response\",\"id\":\"hc-1\","
                                    "\"error\":\"no host dispatcher configured\"}");
    host_result_destroy(&result);
}

Test(host_answer, frames_that_are_no_calls_are_not_answered)
{
    struct host_stage stage;
    struct host_result *result;

    memset(&got, 0, sizeof got);
    host_stage_init(&stage, "init; get; cell=$id; say '{\"type\":\"host_call\",\"id\":\"a\"}'; "
                            "say '{\"type\":\"host_call\",\"method\":\"ping\",\"args\":[]}'; "
                            "say '{\"type\":\"host_call\",\"id\":\"a\",\"method\":5,\"args\":[]}'; "
                            "call ping '[]' last; get; show \"$line\"; cat >/dev/null");
    stage.options.dispatch = answer;
    cr_assert_eq(host_stage_start(&stage), 0);
    result = host_stage_execute(&stage, "x");
    cr_assert_eq(got.calls, 1);
    cr_assert(strstr(result->out.p, "\"id\":\"last\""), "%s", result->out.p);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

/* The call of a thread, between cells, is read with the next request and belongs to no cell of it
 * that ran before. */
Test(host_answer, a_call_between_cells_is_answered_with_the_next_request)
{
    struct host_stage stage;
    struct host_variables *variables = NULL;

    memset(&got, 0, sizeof got);
    host_stage_init(&stage, "init; call ping '[]'; get; asked=$id; get; "
                            "say '{\"type\":\"variables_response\",\"id\":\"'$asked'\","
                            "\"variables\":[],\"truncated\":false,\"limit\":1}'; cat >/dev/null");
    stage.options.dispatch = answer;
    cr_assert_eq(host_stage_start(&stage), 0);
    cr_assert_eq(host_inspect(stage.host, 1, &variables, &stage.error), 0, "%s", stage.error.text);
    cr_assert_str_eq(got.cell, "(none)");
    host_variables_destroy(&variables);
    host_destroy(&stage.host);
}

/* test_host_bash_capability_is_bound_to_exact_worker_spawn, the host's half */
Test(host_answer, a_bash_capability_is_for_this_spawn_alone)
{
    static const struct {
        const char *method, *args;
        bool passes;
    } rows[] = {
        {"authorize_bash", "[{\"generation\":\"'$OPENAI4S_KERNEL_GENERATION'\",\"x\":1},2]", true},
        {"authorize_bash", "[{\"generation\":\"kernel:other:0\"}]", false},
        {"authorize_bash", "[{}]", false},
        {"authorize_bash", "[]", false},
        {"authorize_bash", "{}", false},
        {"consume_bash_authorization", "[{\"generation\":\"kernel:other:0\"}]", false},
        {"consume_bash_authorization", "[ {\"generation\":\"'$OPENAI4S_KERNEL_GENERATION'\"}]",
         true},
        {"record_bash_result", "[{}]", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_result *result = call_once(answer, rows[i].method, rows[i].args);

        cr_expect_eq(got.calls, rows[i].passes, "%s %s", rows[i].method, rows[i].args);
        cr_expect_eq(strstr(result->out.p, "another kernel generation") == NULL, rows[i].passes,
                     "%s", result->out.p);
        if (rows[i].passes && i == 0) {
            cr_expect(strstr(got.args, got.generation), "%s not in %s", got.generation, got.args);
        }
        host_result_destroy(&result);
    }
}

/* The log that test_host_bash_is_kernel_local_and_never_rpcs looks into. */
Test(host_answer, calls_are_logged_but_for_lineage)
{
    struct host_stage stage;
    struct host_result *result;
    struct host_call_entry *calls;
    size_t n;

    host_stage_init(&stage,
                    "init; get; cell=$id; for m in prov_resolve_path ping raise record_bash_result "
                    "prov_record; do call $m '[]'; get; done; show ok; get; cell=$id; i=0; "
                    "while [ $i -lt 300 ]; do call m$i '[]'; get; i=$((i+1)); done; show ok; "
                    "cat >/dev/null");
    stage.options.dispatch = answer;
    cr_assert_eq(host_stage_start(&stage), 0);
    result = host_stage_execute(&stage, "x");
    calls = host_call_log_dup(stage.host, &n);
    cr_assert_eq(n, 3);
    cr_assert_str_eq(calls[0].method, "ping");
    cr_assert_str_eq(calls[0].cell_id, result->id.p);
    cr_assert_not(calls[0].failed);
    cr_assert_geq(calls[0].seconds, 0);
    cr_assert_str_eq(calls[1].method, "raise");
    cr_assert(calls[1].failed);
    cr_assert_str_eq(calls[2].method, "bash");
    free(calls);
    host_result_destroy(&result);
    result = host_stage_execute(&stage, "x");
    calls = host_call_log_dup(stage.host, &n);
    cr_assert_eq(n, 256);
    cr_assert_str_eq(calls[0].method, "m44");
    cr_assert_str_eq(calls[255].method, "m299");
    free(calls);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}
