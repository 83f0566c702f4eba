/* Calls of the host: answers, errors, bounds, and frames that come in between. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/seeds/seed.h"

/* test_host_call_roundtrip, test_host_call_with_args, test_host_call_error_propagates */
Test(seeds_host_calls, are_answered_by_the_dispatcher, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed, "reply = host._call('ping', [])\nprint(reply)", "pong\n");
    seed_expect(&seed, "print(host._call('add', [{'nums': [1, 2, 3, 4]}]))", "10\n");
    seed_expect(&seed,
                "try:\n"
                "    host._call('nope', [])\n"
                "except RuntimeError as e:\n"
                "    print('caught:', 'unknown method' in str(e))",
                "caught: True\n");
    seed_end(&seed);
}

static void contract(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    if (strcmp(call->method.p, "soft") == 0) {
        host_answer_data(answer, "{\"error\":\"soft failure from host\"}", 0);
    } else if (strcmp(call->method.p, "error_plus_data") == 0) {
        host_answer_data(answer, "{\"error\":\"x\",\"detail\":\"still data\"}", 0);
    }
}

/*
 * test_host_call_soft_fail_single_key_error_dict,
 * test_host_call_error_key_with_siblings_is_plain_data, test_host_call_none_data_roundtrips
 */
Test(seeds_host_calls, an_error_alone_is_a_failure_and_with_siblings_data, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, contract);
    seed_expect(&seed,
                "try:\n"
                "    host._call('soft', [])\n"
                "except RuntimeError as e:\n"
                "    print('caught:', e)",
                "caught: host.soft error: soft failure from host\n");
    seed_expect(&seed,
                "d = host._call('error_plus_data', [])\n"
                "print(sorted(d), d['error'], d['detail'])",
                "['detail', 'error'] x still data\n");
    seed_expect(&seed, "print(host._call('none', []) is None)", "True\n");
    seed_end(&seed);
}

/* test_host_call_without_dispatcher_errors */
Test(seeds_host_calls, without_a_dispatcher_there_is_an_error, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, NULL);
    seed_expect(&seed,
                "try:\n"
                "    host._call('ping', [])\n"
                "except RuntimeError as e:\n"
                "    print('no host dispatcher configured' in str(e))",
                "True\n");
    seed_end(&seed);
}

/* test_host_call_wire_cap_rejects_oversized_payload */
Test(seeds_host_calls, too_large_a_call_is_refused_before_anything_is_written, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed,
                "big = 'x' * 15_000_001\n"
                "try:\n"
                "    host._call('ping', [big])\n"
                "except ValueError as e:\n"
                "    print('capped:', '15MB wire cap' in str(e))\n"
                "print(host._call('ping', []))",
                "capped: True\npong\n");
    seed_end(&seed);
}

/* The id of a host_call for ping in that line. -> false: it is none. */
static bool is_ping(const char *line, size_t n, char ret_id[64])
{
    json_t *frame = json_loadb(line, n, 0, NULL);
    const char *method = json_string_value(json_object_get(frame, "method"));
    bool is = method && strcmp(method, "ping") == 0;

    if (is) {
        (void)snprintf(ret_id, 64, "%s", json_string_value(json_object_get(frame, "id")));
    }
    json_decref(frame);
    return is;
}

/* An ack, which is free, and as much to discard as is borne: 6 stale, a line that is no JSON, and
 * a list. */
static void noisy(struct seed *seed, const char *line, size_t n)
{
    char id[64], frame[256];

    if (!is_ping(line, n, id)) {
        return;
    }
    (void)snprintf(frame, sizeof frame, "{\"type\":\"host_ack\",\"id\":\"%s\"}", id);
    seed_write(seed, frame);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(frame, sizeof frame,
                       "{\"type\":\"host_response\",\"id\":\"stale-%d\",\"data\":\"old\"}", i);
        seed_write(seed, frame);
    }
    seed_write(seed, "this line is not json");
    seed_write(seed, "[1, 2, 3]");
}

/* test_host_ack_and_bounded_discard_recovery */
Test(seeds_host_calls, eight_lines_for_nobody_are_borne, .timeout = 100)
{
    struct seed seed;

    seed_init(&seed);
    seed.options.dispatch = seed_echo;
    seed.tap = noisy;
    seed_start(&seed);
    seed_expect(&seed, "print(host._call('ping', []))", "pong\n");
    seed_end(&seed);
}

static void flood(struct seed *seed, const char *line, size_t n)
{
    char id[64], frame[256];

    for (int i = 0; is_ping(line, n, id) && seed->mute_answers && i < 9; i++) {
        (void)snprintf(frame, sizeof frame,
                       "{\"type\":\"host_response\",\"id\":\"stale-%d\",\"data\":null}", i);
        seed_write(seed, frame);
    }
}

/* test_host_call_desync_over_budget_raises_and_kernel_survives */
Test(seeds_host_calls, a_ninth_line_for_nobody_is_a_desync_and_the_worker_survives, .timeout = 100)
{
    struct seed seed;

    seed_init(&seed);
    seed.options.dispatch = seed_echo;
    seed.tap = flood;
    seed.mute_answers = true; /* the real answer never comes, and no other call is made */
    (void)setenv("OPENAI4S_PROVENANCE_OFF", "1", 1);
    seed_start(&seed);
    struct host_result *result = seed_run(&seed, "try:\n"
                                                 "    host._call('ping', [])\n"
                                                 "except RuntimeError as e:\n"
                                                 "    print('caught:', e)");

    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert(strstr(result->out.p, "host.ping: protocol desync"), "%s", result->out.p);
    host_result_destroy(&result);
    seed.mute_answers = false;
    seed_expect(&seed, "print(host._call('ping', []))", "pong\n");
    seed_end(&seed);
}

static void save(void *arg, const struct host_call *call, struct host_answer *answer)
{
    json_t *calls = arg;

    if (strcmp(call->method.p, "save_artifact") == 0) {
        json_array_append_new(calls, json_loadb(call->args.p, call->args.n, 0, NULL));
    }
    host_answer_data(answer, "{\"ok\":true}", 11);
}

/* test_save_artifact_host_call_carries_canonical_and_declared_cell_ids */
Test(seeds_host_calls, an_artifact_carries_the_ids_of_its_cell, .timeout = 100)
{
    struct host_cell inherited = {.code = "print(host.save_artifact('result.csv')['ok'])",
                                  .id = "cell-artifact"};
    struct host_cell explicit = {
        .code = "host.save_artifact('result.csv', producing_cell_id='manual-cell')",
        .id = "cell-other"};
    json_t *calls = json_array(), *expected;
    struct host_result *result = NULL;
    struct seed seed;

    seed_init(&seed);
    seed.options.dispatch = save;
    seed.options.dispatch_arg = calls;
    seed_start(&seed);
    cr_assert_eq(host_execute(seed.host, &inherited, &result, &seed.error), 0);
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_str_eq(result->out.p, "True\n");
    host_result_destroy(&result);
    cr_assert_eq(host_execute(seed.host, &explicit, &result, &seed.error), 0);
    cr_assert_null(result->error.p, "%s", result->error.p);
    host_result_destroy(&result);
    expected = json_loads(
        "[[{\"path\":\"result.csv\",\"inputVersionIds\":[],\"priority\":0,"
        "\"executionCellId\":\"cell-artifact\",\"producingCellId\":\"cell-artifact\"}],"
        "[{\"path\":\"result.csv\",\"inputVersionIds\":[],\"producingCellId\":\"manual-cell\","
        "\"priority\":0,\"executionCellId\":\"cell-other\"}]]",
        0, NULL);
    cr_assert(json_equal(calls, expected), "%s", json_dumps(calls, 0));
    json_decref(expected);
    json_decref(calls);
    seed_end(&seed);
}

/* Numbers of Python have no bound, and a lone surrogate is no reason to lose a call. */
static void as_it_came(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    host_answer_data(answer, call->args.p, call->args.n);
}

Test(seeds_host_calls, what_goes_comes_back_as_python_wrote_it, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, as_it_came);
    seed_expect(&seed,
                "value = [10 ** 60, float('inf'), {'NaN': 'Infinity', 'a': [1.5, None, True]}]\n"
                "print(host._call('same', value) == value)\n"
                "print(host._call('same', [float('nan')]))",
                "True\n[nan]\n");
    seed_end(&seed);
}
