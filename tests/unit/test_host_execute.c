/* kernel/host_execute.c and host_await.c: cells, and what comes between them and their answers. */

#include <errno.h>

#include "tests/unit/host_fixture.h"

struct seen {
    char text[4096];
    size_t chunks, longest;
};

static void take(void *arg, const char *text, size_t n)
{
    struct seen *self = arg;

    (void)strncat(self->text, text, n < 1000 ? n : 0);
    self->chunks++;
    self->longest = n > self->longest ? n : self->longest;
}

static int run(struct host_stage *stage, const char *code, const char *id, struct seen *seen,
               struct host_result **ret_result)
{
    struct host_cell cell = {.code = code, .id = id, .chunk = seen ? take : NULL, .arg = seen};

    return host_execute(stage->host, &cell, ret_result, &stage->error);
}

/* test_response_frame_shape, of the host's half: cwd is added, the rest is as it came */
Test(host_execute, a_result_is_the_frame_and_the_workspace)
{
    struct host_stage stage;
    struct host_result *result;
    char expected[512], cwd[256];

    host_stage_run(&stage, "init; get; reply 'a\\nb'; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    cr_assert(getcwd(cwd, sizeof cwd));
    cr_assert_str_eq(result->out.p, "a\nb");
    cr_assert_str_eq(result->err.p, "");
    cr_assert_null(result->error.p);
    cr_assert_not(result->interrupted);
    cr_assert_eq(result->error_lineno, 0);
    cr_assert_null(result->error_call.p);
    cr_assert_str_eq(result->guards.p, "{}");
    cr_assert_str_eq(result->files_read.p, "[]");
    cr_assert_str_eq(result->usage.p, "{\"wall_s\":0.5}");
    cr_assert_str_eq(result->cwd.p, cwd);
    (void)snprintf(expected, sizeof expected,
                   "{\"type\":\"response\",\"id\":\"%s\",\"stdout\":\"a\\nb\",\"stderr\":\"\","
                   "\"error\":null,\"interrupted\":false,"
                   "\"trace\":{\"error_lineno\":null,\"error_call\":null},\"guards\":{},"
                   "\"files_read\":[],\"usage\":{\"wall_s\":0.5},\"cwd\":\"%s\"}",
                   result->id.p, cwd);
    cr_assert_str_eq(result->json.p, expected);
    host_result_destroy(&result);
    cr_assert_null(result);
    host_result_destroy(&result);
    host_destroy(&stage.host);
    cr_assert_null(stage.host);
    host_destroy(&stage.host);
}

Test(host_execute, an_error_is_a_result_with_its_line)
{
    struct host_stage stage;
    struct host_result *result;

    host_stage_run(&stage, "init; get; say '{\"type\":\"response\",\"id\":\"'$id'\","
                           "\"stdout\":\"\",\"stderr\":\"w\",\"error\":\"Interrupted\","
                           "\"interrupted\":true,\"cwd\":\"/forged\","
                           "\"trace\":{\"error_lineno\":3,\"error_call\":\"f\"}}'; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    cr_assert_str_eq(result->error.p, "Interrupted");
    cr_assert(result->interrupted);
    cr_assert_eq(result->error_lineno, 3);
    cr_assert_str_eq(result->error_call.p, "f");
    cr_assert_str_eq(result->err.p, "w");
    cr_assert_null(strstr(result->json.p, "/forged"));
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host_execute, the_request_is_one_line_whatever_the_code)
{
    static const char code[] = "print('\"\\')\n\xc3\xa9\x01\xff\0end";
    struct host_stage stage;
    struct host_result *result = NULL;
    struct host_cell cell = {
        .code = code, .code_n = sizeof code - 1, .id = "c\"1", .origin = "user"};

    host_stage_run(&stage, "init; get; cell='c\\\"1'; show \"$line\"; cat >/dev/null");
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), 0, "%s", stage.error.text);
    cr_assert_str_eq(result->out.p,
                     "{\"type\":\"execute\",\"id\":\"c\\\"1\",\"origin\":\"user\",\"code\":"
                     "\"print('\\\"\\\\')\\n\xc3\xa9\\u0001\xef\xbf\xbd\\u0000end\"}");
    host_result_destroy(&result);
    cell.code = NULL;
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), HOST_EVALUE);
    host_destroy(&stage.host);
}

/* test_explicit_cell_id_roundtrips_through_worker_response, the host's half */
Test(host_execute, ids_are_the_callers_or_never_the_same)
{
    struct host_result *one, *two, *mine = NULL;
    struct host_stage stage;

    host_stage_run(&stage, "init; while :; do get; reply; done");
    cr_assert_eq(run(&stage, "x", "cell-shared", NULL, &mine), 0);
    one = host_stage_execute(&stage, "x");
    two = host_stage_execute(&stage, "x");
    cr_assert_str_eq(mine->id.p, "cell-shared");
    cr_assert_gt(one->id.n, 0);
    cr_assert_str_neq(one->id.p, two->id.p);
    host_result_destroy(&mine);
    host_result_destroy(&one);
    host_result_destroy(&two);
    host_destroy(&stage.host);
}

/* test_a_chunk_from_another_cell_is_not_this_cell_s_output, test_stdout_chunks_stream_via_on_chunk
 */
Test(host_execute, chunks_of_another_cell_are_dropped_and_counted)
{
    struct host_result *result = NULL;
    struct host_stage stage;
    struct seen seen = {.text = ""};

    host_stage_run(&stage,
                   "init; get; mine=$id; id=other; chunk 'not mine'; id=$mine; chunk 'mi'; "
                   "say '{\"type\":\"stdout_chunk\",\"text\":\"no id\"}'; chunk 'ne\\n'; "
                   "id=older; reply 'not this one'; id=$mine; reply 'mine\\n'; cat >/dev/null");
    cr_assert_eq(run(&stage, "x", NULL, &seen, &result), 0, "%s", stage.error.text);
    cr_assert_str_eq(seen.text, "mine\n");
    cr_assert_eq(seen.chunks, 2);
    cr_assert_str_eq(result->out.p, "mine\n");
    cr_assert_eq(host_stale_chunks(stage.host), 2);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host_execute, what_was_printed_is_not_lost_with_an_oversized_response)
{
    struct host_result *result;
    struct host_stage stage;

    host_stage_run(&stage, "init; get; chunk 'one '; chunk 'two'; "
                           "say '{\"type\":\"response\",\"id\":\"'$id'\",\"stdout\":\"\","
                           "\"stderr\":\"\",\"error\":\"kernel dropped an oversized\","
                           "\"interrupted\":false}'; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    cr_assert_str_eq(result->out.p, "one two");
    cr_assert(strstr(result->json.p, "\"stdout\":\"one two\""), "%s", result->json.p);
    cr_assert_null(result->usage.p);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

/* test_a_worker_diagnostic_is_retained_rather_than_dropped */
Test(host_execute, the_last_32_logs_are_kept_each_up_to_2000_characters)
{
    struct host_stage stage;
    struct host_result *result;
    char **logs;
    size_t n = 0;

    host_stage_run(
        &stage,
        "init; get; i=0; while [ $i -lt 40 ]; do say '{\"type\":\"log\",\"msg\":\"m '$i'\"}';"
        "i=$((i+1)); done; long=$(printf '%2100s' x | sed 's/ /\xc3\xa9/g'); "
        "say '{\"type\":\"log\",\"msg\":\"'$long'\"}'; say '{\"type\":\"log\"}'; "
        "say '{\"type\":\"log\",\"msg\":7}'; reply; cat >/dev/null");
    result = host_stage_execute(&stage, "x");
    logs = host_log_tail_dup(stage.host);
    while (logs[n]) {
        n++;
    }
    cr_assert_eq(n, 32);
    cr_assert_str_eq(logs[0], "m 9");
    cr_assert_str_eq(logs[30], "m 39");
    cr_assert_eq(strlen(logs[31]), 4000, "2000 characters of two bytes");
    free(logs);
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host_execute, lines_that_are_no_frames_are_dropped_eight_times_and_no_more)
{
    static const struct {
        const char *lines;
        int result;
    } rows[] = {{"1 2 3 4 5 6 7 8", 0}, {"1 2 3 4 5 6 7 8 9", HOST_EPROTOCOL}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_result *result = NULL;
        struct host_stage stage;
        char script[512];

        (void)snprintf(script, sizeof script,
                       "init; get; say ''; for i in %s; do say \"junk $i\"; done; "
                       "say '{\"type\":\"unknown\"}'; reply good; cat >/dev/null",
                       rows[i].lines);
        host_stage_run(&stage, script);
        cr_assert_eq(run(&stage, "x", NULL, NULL, &result), rows[i].result, "%s", stage.error.text);
        if (rows[i].result == 0) {
            cr_assert_str_eq(result->out.p, "good");
            host_result_destroy(&result);
        } else {
            cr_assert(strstr(stage.error.text, "no frames"), "%s", stage.error.text);
            cr_assert_eq(run(&stage, "x", NULL, NULL, &result), HOST_EDEAD);
            cr_assert_not(host_is_alive(stage.host));
        }
        host_destroy(&stage.host);
    }
}

Test(host_execute, an_endless_line_ends_the_worker_and_not_the_host)
{
    struct host_result *result = NULL;
    struct host_stage stage;

    host_stage_init(&stage, "init; get; exec cat /dev/zero");
    stage.options.line_limit = 100000;
    cr_assert_eq(host_stage_start(&stage), 0, "%s", stage.error.text);
    cr_assert_eq(run(&stage, "x", NULL, NULL, &result), HOST_EPROTOCOL);
    cr_assert(strstr(stage.error.text, "longer than the limit"), "%s", stage.error.text);
    cr_assert_str_eq(host_error_kind(stage.error.code), "RuntimeError");
    host_destroy(&stage.host);
}

Test(host_execute, a_death_is_told_with_its_status_and_last_words)
{
    static const struct {
        const char *script, *text;
    } rows[] = {
        {"init; get; echo 'last words' >&2; exit 7", "died (exit status 7)\nlast words\n"},
        {"init; get; chunk half; kill -KILL $$", "died (signal 9, Killed)"},
        {"init; get; printf '{\"type\":\"resp'; exit 0", "died (exit status 0)"},
        {"init; exit 4", "died (exit status 4)"},
        {"init; get; echo 'File x' >&2; printf '\\nExtension modules: a%05000d\\n' 0 >&2; echo end "
         ">&2; "
         "ulimit -c 0; kill -SEGV $$",
         "died (signal 11, Segmentation fault)\nFile x\n\nend\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_result *result = NULL;
        struct host_stage stage;

        host_stage_run(&stage, rows[i].script);
        cr_assert_eq(run(&stage, "x", NULL, NULL, &result), HOST_EDEAD);
        cr_expect(strstr(stage.error.text, rows[i].text), "%s", stage.error.text);
        /* So does the next one, and nothing hangs. */
        cr_assert_eq(run(&stage, "x", NULL, NULL, &result), HOST_EDEAD);
        cr_assert_not(host_is_alive(stage.host));
        host_destroy(&stage.host);
    }
}

Test(host_execute, a_cell_past_its_limit_loses_its_worker)
{
    struct host_result *result = NULL;
    struct host_stage stage;
    struct host_cell cell = {.code = "x", .limit_ms = 20};

    host_stage_run(&stage, "init; get; exec sleep 60");
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), HOST_EDEADLINE);
    cr_assert(strstr(stage.error.text, "20 ms"), "%s", stage.error.text);
    cr_assert_str_eq(host_error_kind(stage.error.code), "TimeoutError");
    cr_assert_not(host_is_alive(stage.host));
    host_destroy(&stage.host);
    /* One that is in time keeps it. */
    host_stage_run(&stage, "init; while :; do get; reply; done");
    cell.limit_ms = 60000;
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), 0);
    cr_assert(host_is_alive(stage.host));
    host_result_destroy(&result);
    host_destroy(&stage.host);
}
