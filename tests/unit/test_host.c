/* kernel/host.c: generations, turns, interrupts, kills and the end. */

#include <errno.h>
#include <sys/wait.h>

#include "tests/unit/host_fixture.h"

static const char serve[] =
    "init; while :; do get; cell=$id; show \"$$ $OPENAI4S_KERNEL_GENERATION\";"
    " done";

/* test_restart_bumps_generation_and_resets_namespace, the host's half */
Test(host, a_restart_is_another_worker_of_the_next_generation)
{
    struct host_stage stage;
    char *first, *second;
    pid_t pid;

    host_stage_run(&stage, serve);
    cr_assert_eq(host_generation(stage.host), 0);
    pid = host_pid(stage.host);
    first = host_authorization_generation(stage.host);
    cr_assert_eq(host_restart(stage.host, &stage.error), 0, "%s", stage.error.text);
    cr_assert_eq(host_generation(stage.host), 1);
    cr_assert(host_is_alive(stage.host));
    cr_assert_neq(host_pid(stage.host), pid);
    cr_assert_eq(kill(pid, 0), -1, "the other is gone");
    second = host_authorization_generation(stage.host);
    cr_assert_str_neq(first, second);
    for (int i = 0; i < 2; i++) {
        struct host_result *result = host_stage_execute(&stage, "x");
        char expected[256];

        (void)snprintf(expected, sizeof expected, "%d %s", (int)host_pid(stage.host), second);
        cr_assert_str_eq(result->out.p, expected);
        host_result_destroy(&result);
    }
    free(first);
    free(second);
    host_shutdown(stage.host);
    first = host_authorization_generation(stage.host);
    cr_assert_str_eq(first, "", "there is no spawn that a capability could be for");
    free(first);
    host_destroy(&stage.host);
}

/* test_kernel_survives_the_request_thread_that_created_it */
static void *make_and_run(void *arg)
{
    struct host_stage *stage = arg;
    struct host_result *result;

    host_stage_run(stage, "n=41; init; while :; do get; cell=$id; show $n; n=$((n+1)); done");
    result = host_stage_execute(stage, "x");
    cr_assert_str_eq(result->out.p, "41");
    host_result_destroy(&result);
    return NULL;
}

Test(host, survives_the_thread_that_made_it)
{
    static struct host_stage stage;
    struct host_result *result;
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, make_and_run, &stage), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    result = host_stage_execute(&stage, "x");
    cr_assert_str_eq(result->out.p, "42");
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

static void *execute_many(void *arg)
{
    struct host *host = arg;

    for (int i = 0; i < 20; i++) {
        struct host_cell cell = {.code = "x"};
        struct host_result *result = NULL;
        struct host_error error;

        cr_assert_eq(host_execute(host, &cell, &result, &error), 0, "%s", error.text);
        host_result_destroy(&result);
        (void)host_is_alive(host);
        (void)host_stale_chunks(host);
    }
    return NULL;
}

Test(host, threads_take_turns)
{
    struct host_stage stage;
    pthread_t threads[4];

    host_stage_run(&stage, serve);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, execute_many, stage.host), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    host_destroy(&stage.host);
}

/* What another thread does to a cell that has said that it runs. */
struct other {
    struct host *host;
    void (*act)(struct host *host);
    pthread_t thread;
    bool begun;
};

static void *act(void *arg)
{
    struct other *self = arg;

    self->act(self->host);
    return NULL;
}

static void begin(void *arg, const char *text, size_t n)
{
    struct other *self = arg;

    (void)text;
    (void)n;
    if (!self->begun) {
        self->begun = true;
        cr_assert_eq(pthread_create(&self->thread, NULL, act, self), 0);
    }
}

static int run_with_other(struct host_stage *stage, void (*what)(struct host *host),
                          struct host_result **ret_result)
{
    struct other other = {.host = stage->host, .act = what};
    struct host_cell cell = {.code = "x", .chunk = begin, .arg = &other};
    int r = host_execute(stage->host, &cell, ret_result, &stage->error);

    cr_assert(other.begun);
    cr_assert_eq(pthread_join(other.thread, NULL), 0);
    return r;
}

static void interrupt(struct host *host)
{
    cr_assert(host_interrupt(host));
}

Test(host, an_interrupt_is_a_sigint_for_the_worker)
{
    struct host_result *result = NULL;
    struct host_stage stage;

    host_stage_run(&stage, "init; trap 'stop=1' INT; while :; do get; cell=$id; stop=; chunk x; "
                           "while [ -z \"$stop\" ]; do sleep 0.01; done; show stopped; done");
    cr_assert_eq(run_with_other(&stage, interrupt, &result), 0, "%s", stage.error.text);
    cr_assert_str_eq(result->out.p, "stopped");
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

static void restart(struct host *host)
{
    cr_assert_eq(host_restart(host, NULL), 0);
}

static const char hang[] = "init; get; chunk x; sleep 60 & wait";

Test(host, kill_restart_and_shutdown_end_the_cell_of_another_thread)
{
    static void (*const what[])(struct host *) = {host_kill, restart, host_shutdown};

    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++) {
        struct host_result *result = NULL;
        struct host_stage stage;
        pid_t pid;

        host_stage_init(&stage, hang);
        stage.options.shutdown_ms = 50;
        cr_assert_eq(host_stage_start(&stage), 0, "%s", stage.error.text);
        pid = host_pid(stage.host);
        cr_assert_eq(run_with_other(&stage, what[i], &result), HOST_EDEAD);
        cr_assert(strstr(stage.error.text, "signal 9"), "%s", stage.error.text);
        cr_assert_eq(host_is_alive(stage.host), what[i] == restart);
        cr_assert_eq(host_pid(stage.host) == pid, what[i] == host_kill);
        host_destroy(&stage.host);
        for (int tries = 0; tries < 10000 && kill(-pid, 0) == 0; tries++) {
            (void)poll(NULL, 0, 1); /* who is not ours is reaped by somebody else */
        }
        cr_assert_eq(kill(-pid, 0), -1, "its group is empty");
    }
}

Test(host, after_a_kill_a_restart_brings_another)
{
    struct host_stage stage;
    struct host_result *result;

    host_stage_run(&stage, serve);
    host_kill(stage.host);
    cr_assert_eq(host_restart(stage.host, &stage.error), 0, "%s", stage.error.text);
    result = host_stage_execute(&stage, "x");
    host_result_destroy(&result);
    host_destroy(&stage.host);
}

Test(host, after_a_restart_that_failed_another_may_be_tried)
{
    char directory[] = "/tmp/einkorn-XXXXXX", path[64], script[512];
    struct host_cell cell = {.code = "x"};
    struct host_result *result = NULL;
    struct host_stage stage;
    size_t n;
    char *tail;

    cr_assert(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/broken", directory);
    (void)snprintf(script, sizeof script, "test -e %s && { echo broken >&2; exit 9; }; %s", path,
                   serve);
    host_stage_run(&stage, script);
    cr_assert_geq(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    cr_assert_eq(host_restart(stage.host, &stage.error), HOST_ESTART);
    cr_assert(strstr(stage.error.text, "(exit status 9)\nbroken"), "%s", stage.error.text);
    tail = host_stderr_tail_dup(stage.host, &n);
    cr_assert_str_eq(tail, "broken\n", "it is known when the worker is gone");
    free(tail);
    cr_assert_eq(host_pid(stage.host), 0);
    cr_assert_not(host_interrupt(stage.host));
    host_kill(stage.host);
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), HOST_EDEAD);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(host_restart(stage.host, &stage.error), 0, "%s", stage.error.text);
    cr_assert_eq(host_generation(stage.host), 2);
    result = host_stage_execute(&stage, "x");
    host_result_destroy(&result);
    host_destroy(&stage.host);
    (void)rmdir(directory);
}

Test(host, a_shutdown_is_asked_for_and_waited_for)
{
    char directory[] = "/tmp/einkorn-XXXXXX", path[64], script[512], text[64] = "";
    struct host_cell cell = {.code = "x"};
    struct host_result *result = NULL;
    struct host_stage stage;
    FILE *file;

    cr_assert(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/end", directory);
    (void)snprintf(script, sizeof script, "init; get; sleep 0.1; printf '%%s' \"$line\" >%s", path);
    host_stage_run(&stage, script);
    host_shutdown(stage.host);
    file = fopen(path, "re");
    cr_assert(file);
    cr_assert(fgets(text, sizeof text, file));
    (void)fclose(file);
    cr_assert_str_eq(text, "{\"type\":\"shutdown\"}");
    /* It is over: twice is once. */
    host_shutdown(stage.host);
    cr_assert_eq(host_execute(stage.host, &cell, &result, &stage.error), HOST_EDEAD);
    cr_assert_str_eq(stage.error.text, "kernel has been shut down");
    cr_assert_eq(host_restart(stage.host, &stage.error), HOST_EDEAD);
    host_destroy(&stage.host);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "it is reaped");
    (void)unlink(path);
    (void)rmdir(directory);
}

Test(host, codes_have_the_names_that_python_programs_know)
{
    cr_assert_str_eq(host_error_kind(HOST_EBUSY), "KernelBusyError");
    cr_assert_str_eq(host_error_kind(HOST_EDEADLINE), "TimeoutError");
    cr_assert_str_eq(host_error_kind(0), "no error");
    cr_assert_str_eq(host_error_kind(-100), "no error");
    cr_assert_str_eq(host_error_kind(100), "no error");
}
