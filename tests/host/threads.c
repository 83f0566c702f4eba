/*
 * Threads that do everything to one host at once: cells, variables, interrupts,
 * kills, restarts, and questions. Each call must come back with an answer that
 * its contract allows. No Criterion, which a thread sanitizer cannot live with:
 *
 *   cmake -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DEINKORN_SANITIZE=thread
 *   cmake --build build/tsan -- host_threads && ctest --test-dir build/tsan -R host_threads
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/check.h"
#include "kernel/host.h"

enum { ROUNDS = 60, RUNNERS = 3 };

/* A worker that prints, calls, logs and answers. */
static const char script[] =
    "get() { IFS= read -r line || exit 0; id=${line#*'\"id\":\"'}; id=${id%%'\"'*}; }\n"
    "say() { printf '%s\\n' \"$1\"; }\n"
    "trap '' INT\n"
    "get; say '{\"type\":\"initialized\",\"id\":\"'$id'\"}'\n"
    "while :; do get; cell=$id; echo noise >&2\n"
    "case $line in\n"
    "*shutdown*) exit 0;;\n"
    "*inspect*) say '{\"type\":\"variables_response\",\"id\":\"'$cell'\",\"variables\":[]}';;\n"
    "*) say '{\"type\":\"stdout_chunk\",\"id\":\"'$cell'\",\"text\":\"x\"}'\n"
    "say '{\"type\":\"log\",\"msg\":\"m\"}'\n"
    "say '{\"type\":\"host_call\",\"id\":\"h\",\"method\":\"ping\",\"args\":[]}'; get\n"
    "say '{\"type\":\"response\",\"id\":\"'$cell'\",\"stdout\":\"x\"}';;\n"
    "esac; done\n";

static struct host *host;
static atomic_bool over;
static atomic_uint good, dead;

static void dispatch(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    (void)call;
    (void)host_interrupt(host);
    host_answer_data(answer, "\"pong\"", 0);
}

static void take(void *arg, const char *text, size_t n)
{
    (void)arg;
    CHECK(n == 1 && *text == 'x');
}

static void *run_cells(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct host_cell cell = {.code = "x", .chunk = take, .limit_ms = 60000};
        struct host_result *result = NULL;
        struct host_error error;
        int r = host_execute(host, &cell, &result, &error);

        CHECK(r == 0 || r == HOST_EDEAD);
        CHECK(r != 0 || strcmp(result->out.p, "x") == 0);
        atomic_fetch_add(r == 0 ? &good : &dead, 1);
        host_result_destroy(&result);
    }
    return NULL;
}

static void *ask(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        struct host_variables *variables = NULL;
        size_t n;
        int r = host_inspect(host, 5, &variables, NULL);

        CHECK(r == 0 || r == HOST_EBUSY || r == HOST_EDEAD);
        host_variables_destroy(&variables);
        free(host_stderr_tail_dup(host, &n));
        free(host_log_tail_dup(host));
        free(host_call_log_dup(host, &n));
        free(host_authorization_generation(host));
        (void)host_pid(host);
        (void)host_is_alive(host);
        (void)host_generation(host);
        (void)host_stale_chunks(host);
    }
    return NULL;
}

static void *disturb(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS / 4; i++) {
        if (i % 3 == 0) {
            host_kill(host);
        }
        CHECK(host_restart(host, NULL) == 0);
        (void)host_interrupt(host);
    }
    return NULL;
}

int main(void)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct host_options options = HOST_OPTIONS_INIT;
    pthread_t runners[RUNNERS], asker, disturber;
    struct host_error error;

    options.argv = argv;
    options.dispatch = dispatch;
    options.ready_ms = 60000;
    if (host_new(&options, &host, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    CHECK(pthread_create(&asker, NULL, ask, NULL) == 0);
    CHECK(pthread_create(&disturber, NULL, disturb, NULL) == 0);
    for (size_t i = 0; i < RUNNERS; i++) {
        CHECK(pthread_create(&runners[i], NULL, run_cells, NULL) == 0);
    }
    for (size_t i = 0; i < RUNNERS; i++) {
        CHECK(pthread_join(runners[i], NULL) == 0);
    }
    CHECK(pthread_join(disturber, NULL) == 0);
    atomic_store(&over, true);
    CHECK(pthread_join(asker, NULL) == 0);
    host_destroy(&host);
    CHECK(atomic_load(&good) + atomic_load(&dead) == RUNNERS * ROUNDS);
    printf("%u cells came back, %u lost their worker\n", atomic_load(&good), atomic_load(&dead));
    return EXIT_SUCCESS;
}
