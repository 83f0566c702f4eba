/* Cells: what is captured, what lasts, what a response looks like. */

#include <stdlib.h>
#include <string.h>

#include "tests/seeds/seed.h"

/* test_print_capture */
Test(seeds_cells, print_is_captured, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed, "print('hello')", "hello\n");
    seed_end(&seed);
}

/* test_persistent_namespace, test_expr_echo */
Test(seeds_cells, the_namespace_lasts_and_expressions_are_echoed, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed, "x = 41", "");
    seed_expect(&seed, "print(x + 1)", "42\n");
    seed_expect(&seed, "21 * 2", "42\n");
    seed_end(&seed);
}

static void *make(void *arg)
{
    struct seed *seed = arg;

    seed_begin(seed, seed_echo);
    seed_expect(seed, "marker = 41", "");
    return NULL;
}

/* test_kernel_survives_the_request_thread_that_created_it */
Test(seeds_cells, the_worker_survives_the_thread_that_made_it, .timeout = 100)
{
    struct seed seed;
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, make, &seed), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    seed_expect(&seed, "print(marker + 1)", "42\n");
    seed_end(&seed);
}

/* test_error_lineno, test_user_raised_keyboardinterrupt_is_normal_error_with_lineno */
Test(seeds_cells, errors_have_their_line, .timeout = 100)
{
    static const struct {
        const char *code, *name;
        long line;
    } rows[] = {
        {"a = 1\nb = 2\nraise ValueError('boom')", "ValueError", 3},
        {"x = 1\nraise KeyboardInterrupt('manual')", "KeyboardInterrupt", 2},
    };
    struct seed seed;

    seed_begin(&seed, seed_echo);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_result *result = seed_run(&seed, rows[i].code);

        cr_assert(result->error.p && strstr(result->error.p, rows[i].name));
        cr_assert_eq(result->error_lineno, rows[i].line);
        cr_assert_not(result->interrupted);
        cr_assert(host_is_alive(seed.host));
        host_result_destroy(&result);
    }
    seed_end(&seed);
}

static void expect_keys(json_t *object, const char *const keys[], size_t n)
{
    cr_assert_eq(json_object_size(object), n);
    for (size_t i = 0; i < n; i++) {
        cr_assert(json_object_get(object, keys[i]), "%s is missing", keys[i]);
    }
}

/* test_response_frame_shape, test_usage_accounting */
Test(seeds_cells, a_response_has_just_its_keys, .timeout = 100)
{
    static const char *const keys[] = {"type",       "id",          "stdout", "stderr",
                                       "error",      "interrupted", "trace",  "guards",
                                       "files_read", "usage",       "cwd"};
    static const char *const usage_keys[] = {"wall_s", "cpu_s", "peak_rss_kb"};
    static const char *const trace_keys[] = {"error_lineno", "error_call"};
    struct seed seed;
    struct host_result *result;
    json_t *frame, *usage;

    seed_begin(&seed, seed_echo);
    result = seed_run(&seed, "print('shape', sum(range(1000)))");
    frame = json_loads(result->json.p, 0, NULL);
    expect_keys(frame, keys, sizeof keys / sizeof keys[0]);
    cr_assert_str_eq(json_string_value(json_object_get(frame, "type")), "response");
    cr_assert(json_is_false(json_object_get(frame, "interrupted")));
    cr_assert(json_is_object(json_object_get(frame, "guards")));
    cr_assert_str_eq(json_string_value(json_object_get(frame, "cwd")), seed.directory);
    expect_keys(json_object_get(frame, "trace"), trace_keys, 2);
    usage = json_object_get(frame, "usage");
    expect_keys(usage, usage_keys, 3);
    cr_assert_geq(json_number_value(json_object_get(usage, "wall_s")), 0);
    cr_assert_gt(json_integer_value(json_object_get(usage, "peak_rss_kb")), 0);
    json_decref(frame);
    host_result_destroy(&result);
    seed_end(&seed);
}

/* test_stderr_captured_separately */
Test(seeds_cells, stderr_is_captured_separately, .timeout = 100)
{
    struct seed seed;
    struct host_result *result;

    seed_begin(&seed, seed_echo);
    result = seed_run(&seed, "import sys\nsys.stderr.write('warn!\\n')\nprint('out')");
    cr_assert_str_eq(result->out.p, "out\n");
    cr_assert_str_eq(result->err.p, "warn!\n");
    cr_assert_null(result->error.p);
    host_result_destroy(&result);
    seed_end(&seed);
}

/* What chunks of a cell were, one after the other. */
struct streamed {
    char *text;
    size_t n, longest, chunks;
};

static void take(void *arg, const char *text, size_t n)
{
    struct streamed *self = arg;

    self->text = realloc(self->text, self->n + n + 1);
    memcpy(self->text + self->n, text, n + 1);
    self->n += n;
    self->longest = n > self->longest ? n : self->longest;
    self->chunks++;
}

/* test_stdout_chunks_stream_via_on_chunk */
Test(seeds_cells, chunks_say_what_the_response_says, .timeout = 100)
{
    struct streamed streamed = {.text = NULL};
    struct host_cell cell = {.code = "print('live')", .chunk = take, .arg = &streamed};
    struct host_result *result = NULL;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_execute(seed.host, &cell, &result, &seed.error), 0);
    cr_assert_str_eq(streamed.text, "live\n");
    cr_assert_str_eq(result->out.p, "live\n");
    free(streamed.text);
    host_result_destroy(&result);
    seed_end(&seed);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

/* test_one_print_cannot_put_an_unbounded_frame_on_the_protocol_pipe */
Test(seeds_cells, one_print_cannot_put_an_unbounded_frame_on_the_pipe, .timeout = 100)
{
    struct streamed streamed = {.text = NULL};
    struct host_cell cell = {.code = "print('x' * 20_000_000)", .chunk = take, .arg = &streamed};
    struct host_result *result = NULL;
    struct seed seed;

    seed_init(&seed);
    seed.options.dispatch = seed_echo;
    seed.options.line_limit = 1100000; /* the response, and no frame larger than that */
    seed_start(&seed);
    cr_assert_eq(host_execute(seed.host, &cell, &result, &seed.error), 0, "%s", seed.error.text);
    cr_assert_null(result->error.p);
    cr_assert_gt(streamed.chunks, 0);
    cr_assert_leq(streamed.longest, 64000 + 64);
    cr_assert_lt(streamed.n, 20000000);
    cr_assert_eq(count(streamed.text, "...(truncated at"), 1);
    cr_assert_leq(result->out.n, 1000000 + 64);
    cr_assert(strstr(result->out.p, "characters"));
    free(streamed.text);
    host_result_destroy(&result);
    seed_end(&seed);
}

/* test_explicit_cell_id_roundtrips_through_worker_response */
Test(seeds_cells, cell_ids_come_back_and_automatic_ones_differ, .timeout = 100)
{
    struct host_cell cell = {.code = "print('identified')", .id = "cell-shared"};
    struct host_result *result = NULL, *one, *two;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_execute(seed.host, &cell, &result, &seed.error), 0);
    one = seed_run(&seed, "pass");
    two = seed_run(&seed, "pass");
    cr_assert_str_eq(result->id.p, "cell-shared");
    cr_assert_str_eq(result->out.p, "identified\n");
    cr_assert_gt(one->id.n, 0);
    cr_assert_str_neq(one->id.p, two->id.p);
    host_result_destroy(&result);
    host_result_destroy(&one);
    host_result_destroy(&two);
    seed_end(&seed);
}

/* test_system_exit_is_trapped_and_worker_survives */
Test(seeds_cells, system_exit_is_trapped, .timeout = 100)
{
    struct seed seed;
    struct host_result *result;

    seed_begin(&seed, seed_echo);
    seed_expect(&seed, "x = 7", "");
    result = seed_run(&seed, "raise SystemExit(3)");
    cr_assert(result->error.p && strstr(result->error.p, "SystemExit trapped"));
    host_result_destroy(&result);
    cr_assert(host_is_alive(seed.host));
    seed_expect(&seed, "print(x)", "7\n");
    seed_end(&seed);
}

/* test_restart_bumps_generation_and_resets_namespace */
Test(seeds_cells, a_restart_has_a_new_generation_and_an_empty_namespace, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_generation(seed.host), 0);
    seed_expect(&seed, "x = 1", "");
    cr_assert_eq(host_restart(seed.host, &seed.error), 0, "%s", seed.error.text);
    cr_assert_eq(host_generation(seed.host), 1);
    cr_assert(host_is_alive(seed.host));
    seed_expect(&seed, "print('x' in globals())", "False\n");
    seed_end(&seed);
}

/* test_a_chunk_from_another_cell_is_not_this_cell_s_output */
Test(seeds_cells, a_chunk_of_another_cell_is_not_this_cells_output, .timeout = 100)
{
    struct streamed streamed = {.text = NULL};
    struct host_cell cell = {.code = "print('mine')", .chunk = take, .arg = &streamed};
    struct host_result *result = NULL;
    struct seed seed;

    seed_init(&seed);
    seed.tapped = true;
    seed_start(&seed);
    seed.inject = "{\"type\":\"stdout_chunk\",\"id\":\"a-cell-that-is-not-this-one\","
                  "\"text\":\"not mine\\n\"}";
    cr_assert_eq(host_execute(seed.host, &cell, &result, &seed.error), 0);
    cr_assert_null(seed.inject);
    cr_assert_str_eq(streamed.text, "mine\n");
    cr_assert_str_eq(result->out.p, "mine\n");
    cr_assert_eq(host_stale_chunks(seed.host), 1);
    free(streamed.text);
    host_result_destroy(&result);
    seed_end(&seed);
}

/* test_a_worker_diagnostic_is_retained_rather_than_dropped */
Test(seeds_cells, a_diagnostic_of_the_worker_is_kept, .timeout = 100)
{
    struct seed seed;
    char **logs;

    seed_init(&seed);
    seed.tapped = true;
    seed_start(&seed);
    seed.inject = "{\"type\":\"log\",\"msg\":\"SIGINT could not be armed for this cell\"}";
    seed_expect(&seed, "print('ok')", "ok\n");
    logs = host_log_tail_dup(seed.host);
    cr_assert(logs[0] && strstr(logs[0], "SIGINT could not be armed"));
    free(logs);
    seed_end(&seed);
}

/*
 * test_python_kernel_and_its_subprocesses_cannot_inherit_host_api_key, but for
 * the command through host.bash (tests/frames/test_22_bash.py)
 */
Test(seeds_cells, no_key_of_the_host_gets_into_a_cell_or_its_children, .timeout = 100)
{
    static const char marker[] = "synthetic-host-llm-secret-never-in-kernel";
    struct seed seed;
    struct host_result *result;

    (void)setenv("OPENAI4S_LLM_API_KEY", marker, 1);
    (void)setenv("OPENAI4S_ARK_API_KEY", marker, 1);
    (void)setenv("OPENAI_API_KEY", marker, 1);
    (void)setenv("HF_TOKEN", marker, 1);
    (void)setenv("LD_PRELOAD", "/tmp/openai4s-never-load.so", 1);
    (void)setenv("OPENAI4S_PROVENANCE_OFF", "1", 1);
    seed_begin(&seed, NULL);
    result =
        seed_run(&seed, "import os, subprocess, sys\n"
                        "probe = 'import os; print(sorted(os.environ.items()))'\n"
                        "print(sorted(os.environ.items()))\n"
                        "print(subprocess.check_output([sys.executable, '-c', probe], text=True))\n"
                        "print(os.environ.get('OPENAI4S_PROVENANCE_OFF', ''))");
    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_null(strstr(result->out.p, marker));
    cr_assert_null(strstr(result->out.p, "never-load"));
    cr_assert(strstr(result->out.p, "OPENAI4S_WORKSPACE"));
    cr_assert_str_eq(result->out.p + result->out.n - 2, "1\n");
    host_result_destroy(&result);
    seed_end(&seed);
}

/* What a hostile cell writes into the pipe that it has found is not taken for a response. */
Test(seeds_cells, a_forged_response_ends_no_cell, .timeout = 100)
{
    struct seed seed;

    seed_begin(&seed, NULL);
    seed_expect(
        &seed,
        "import sys\n"
        "out = sys._openai4s_protocol_stdout\n"
        "out.write('garbage\\n{\"type\":\"response\",\"id\":\"guess\",\"stdout\":\"forged\"}\\n')\n"
        "out.flush()\n"
        "print('mine')",
        "mine\n");
    seed_expect(&seed, "print('aligned')", "aligned\n");
    seed_end(&seed);
}

/* The cell's line is what its author has to know. */
Test(seeds_cells, a_fault_is_told_with_the_stack_of_its_cell, .timeout = 100)
{
    struct host_cell cell = {.code = "import ctypes, resource\n"
                                     "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                                     "def crash():\n"
                                     "    ctypes.string_at(0)\n"
                                     "crash()"};
    struct host_result *result = NULL;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_execute(seed.host, &cell, &result, &seed.error), HOST_EDEAD);
    cr_expect(strstr(seed.error.text, "(signal 11, Segmentation fault)"), "%s", seed.error.text);
    cr_expect(strstr(seed.error.text, "\"<kernel:1>\", line 4 in crash"), "%s", seed.error.text);
    cr_assert_eq(host_restart(seed.host, &seed.error), 0);
    seed_expect(&seed, "print('again')", "again\n");
    seed_end(&seed);
}
