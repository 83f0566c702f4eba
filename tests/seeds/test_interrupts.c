/* Interrupts, kills, and the session that they stand on. */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/seeds/seed.h"

static struct seed_event reached = SEED_EVENT_INIT;

static void begin(struct seed *seed)
{
    seed_init(seed);
    seed->options.dispatch = seed_ping_is_an_event;
    seed->options.dispatch_arg = &reached;
    seed_start(seed);
}

static void expect_interrupted(struct host_result *result)
{
    cr_assert(result->interrupted, "%s", result->json.p);
    cr_assert_str_eq(result->error.p, "Interrupted");
    cr_assert_eq(result->error_lineno, 0);
    cr_assert_null(result->error_call.p);
    host_result_destroy(&result);
}

/* test_sigint_interrupt_reports_interrupted_true_lineno_none */
Test(seeds_interrupts, one_ends_the_cell_and_the_namespace_stays, .timeout = 100)
{
    struct seed_cell cell = {.seed = NULL};
    struct seed seed;

    begin(&seed);
    seed_expect(&seed, "marker = 'still-here'", "");
    seed_cell_begin(&cell, &seed, "host._call('ping', [])\nimport time\ntime.sleep(30)");
    seed_event_wait(&reached);
    cr_assert(host_interrupt(seed.host));
    expect_interrupted(seed_cell_end(&cell));
    cr_assert(host_is_alive(seed.host));
    seed_expect(&seed, "print(marker)", "still-here\n");
    seed_end(&seed);
}

/* test_interrupt_stops_a_cell_whose_helper_threads_could_eat_the_signal */
Test(seeds_interrupts, helper_threads_cannot_eat_the_signal, .timeout = 100)
{
    struct seed_cell cell = {.seed = NULL};
    struct seed seed;

    begin(&seed);
    seed_cell_begin(&cell, &seed,
                    "import threading, time\n"
                    "for _ in range(6):\n"
                    "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                    "host._call('ping', [])\n"
                    "time.sleep(600)");
    seed_event_wait(&reached);
    cr_assert(host_interrupt(seed.host));
    expect_interrupted(seed_cell_end(&cell)); /* within a minute, not after ten */
    seed_end(&seed);
}

static struct host *interrupted_host;
static bool interrupted_once;

static void interrupt_from_dispatcher(void *arg, const struct host_call *call,
                                      struct host_answer *answer)
{
    if (strcmp(call->method.p, "ping") == 0 && !interrupted_once) {
        interrupted_once = true;
        (void)host_interrupt(interrupted_host); /* the worker waits for this answer */
    }
    seed_echo(arg, call, answer);
}

/* test_an_interrupt_inside_a_host_call_leaves_the_kernel_usable */
Test(seeds_interrupts, one_inside_a_host_call_leaves_the_worker_usable, .timeout = 100)
{
    struct host_result *result;
    struct seed seed;

    seed_begin(&seed, interrupt_from_dispatcher);
    interrupted_host = seed.host;
    seed_expect(&seed, "marker = 'still-here'", "");
    result = seed_run(&seed, "host._call('ping', [])\nimport time\ntime.sleep(30)");
    cr_assert(interrupted_once);
    cr_assert(result->interrupted, "%s", result->json.p);
    host_result_destroy(&result);
    cr_assert(host_is_alive(seed.host));
    seed_expect(&seed, "print(marker)", "still-here\n");
    /* The abandoned call did not take the next one's answer. */
    seed_expect(&seed, "print(host._call('ping', []))", "pong\n");
    seed_end(&seed);
}

/* test_an_idle_worker_survives_an_interrupt_before_its_first_cell */
Test(seeds_interrupts, an_idle_worker_survives_one_before_its_first_cell, .timeout = 100)
{
    struct host_variables *variables = NULL;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_inspect(seed.host, 1, &variables, &seed.error), 0, "%s", seed.error.text);
    host_variables_destroy(&variables);
    cr_assert(host_interrupt(seed.host));
    cr_assert(host_is_alive(seed.host));
    seed_expect(&seed, "marker = 'survived'\nprint(marker)", "survived\n");
    seed_end(&seed);
}

/* test_the_worker_runs_in_its_own_session */
Test(seeds_interrupts, the_worker_leads_its_own_session, .timeout = 100)
{
    struct seed seed;
    pid_t pid;

    seed_begin(&seed, seed_echo);
    pid = host_pid(seed.host);
    cr_assert_eq(getpgid(pid), pid);
    cr_assert_eq(getsid(pid), pid);
    cr_assert_neq(getpgid(pid), getpgid(0));
    seed_expect(&seed, "import os\nprint(os.getpid() == os.getpgid(0) == os.getsid(0))", "True\n");
    seed_end(&seed);
}

/* test_killing_the_worker_also_ends_what_the_cell_started */
Test(seeds_interrupts, a_kill_ends_what_the_cell_started, .timeout = 100)
{
    struct host_result *result;
    struct seed seed;
    pid_t child;

    seed_begin(&seed, seed_echo);
    result = seed_run(&seed, "import subprocess, sys\n"
                             "child = subprocess.Popen([sys.executable, '-c', "
                             "'import time; time.sleep(600)'])\n"
                             "print(child.pid)");
    cr_assert_null(result->error.p, "%s", result->error.p);
    child = (pid_t)atoi(result->out.p);
    host_result_destroy(&result);
    cr_assert_gt(child, 0);
    cr_assert_eq(getpgid(child), host_pid(seed.host));
    host_kill(seed.host);
    for (int i = 0; i < 60000 && kill(child, 0) == 0; i++) {
        (void)poll(NULL, 0, 1); /* it is somebody else's to reap */
    }
    cr_assert_eq(kill(child, 0), -1, "it outlived the worker");
    seed_end(&seed);
}

static struct seed_event started = SEED_EVENT_INIT;

static void on_chunk(void *arg, const char *text, size_t n)
{
    (void)arg;
    (void)text;
    (void)n;
    seed_event_set(&started);
}

/* test_variable_inspector_fails_busy_without_competing_frame_reader */
Test(seeds_interrupts, the_inspector_is_busy_while_a_cell_runs_and_takes_no_frame, .timeout = 100)
{
    struct host_variables *variables = NULL;
    struct seed_cell cell = {.cell = {.chunk = on_chunk}};
    struct host_result *result;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    seed_cell_begin(&cell, &seed, "print('started')\nimport time\ntime.sleep(30)");
    seed_event_wait(&started);
    cr_assert_eq(host_inspect(seed.host, 200, &variables, &seed.error), HOST_EBUSY);
    cr_assert_str_eq(host_error_kind(seed.error.code), "KernelBusyError");
    cr_assert(strstr(seed.error.text, "busy"));
    cr_assert(host_interrupt(seed.host));
    result = seed_cell_end(&cell);
    cr_assert(result->interrupted);
    host_result_destroy(&result);
    cr_assert_eq(host_inspect(seed.host, 200, &variables, &seed.error), 0, "%s", seed.error.text);
    cr_assert_eq(variables->variables.p[0], '[');
    host_variables_destroy(&variables);
    seed_end(&seed);
}

/* test_variable_inspector_limit_validation_is_local, on a real worker */
Test(seeds_interrupts, a_refused_limit_leaves_the_worker_aligned, .timeout = 100)
{
    struct host_variables *variables = NULL;
    struct seed seed;
    int limit;

    seed_begin(&seed, seed_echo);
    cr_assert_eq(host_inspect(seed.host, 0, &variables, &seed.error), HOST_EVALUE);
    cr_assert(strstr(seed.error.text, "between 1 and 500"));
    cr_assert_eq(host_inspect_limit("true", &limit, &seed.error), HOST_ETYPE);
    cr_assert(strstr(seed.error.text, "integer"));
    seed_expect(&seed, "print('aligned')", "aligned\n");
    seed_end(&seed);
}

/*
 * At any moment of a cell: the request ends with the death, and the next worker is as new.
 * EINKORN_CHAOS_KILLS: how many; 20 in the suite.
 */
Test(seeds_interrupts, kills_at_any_moment_and_restarts, .timeout = 280)
{
    static const char *const codes[] = {
        "while True: print('x' * 1000)",
        "while True: host._call('ping', [])",
        "import time\ntime.sleep(600)",
    };
    const char *text = getenv("EINKORN_CHAOS_KILLS");
    long kills = text ? strtol(text, NULL, 10) : 20;
    unsigned random = 7;
    struct seed seed;

    seed_begin(&seed, seed_echo);
    for (long i = 0; i < kills; i++) {
        struct seed_cell cell = {.seed = NULL};

        seed_cell_begin(&cell, &seed, codes[i % 3]);
        (void)poll(NULL, 0, (int)(rand_r(&random) % 40));
        host_kill(seed.host);
        cr_assert_eq(pthread_join(cell.thread, NULL), 0);
        cr_assert_eq(cell.r, HOST_EDEAD, "%d %s", cell.r, cell.error.text);
        cr_assert_eq(host_restart(seed.host, &seed.error), 0, "%s", seed.error.text);
        seed_expect(&seed, "print('codes' in globals())", "False\n");
    }
    cr_expect_eq(host_generation(seed.host), (unsigned)kills);
    seed_end(&seed);
}
