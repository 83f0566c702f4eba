/*
 * A host for an agent, in C: it offers two methods to the code that it runs.
 *
 *   cc agent_host.c $(pkg-config --cflags --libs einkorn-host) -o agent_host
 *   ./agent_host [PYTHON]
 *
 * The task: an agent (here, the strings below) is to find out which region's
 * sales fell. The figures belong to the host (`sales`), and so does the place
 * where findings go (`report`); the code gets at both through `host`, and at
 * nothing else of ours. Then it starts something that takes too long and is
 * interrupted, and at last the worker is replaced by a new one.
 *
 * agent_host.py does the same without the library, to show the other side of the
 * wire; both print the same.
 */

#include <einkorn/host.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the host offers -------------------------------------------------------- */

/* By quarter. A host of the real world asks its database here. */
static const struct {
    const char *call, *figures;
} sales[] = {
    {"[\"north\"]", "[120, 128, 131, 140]"},
    {"[\"south\"]", "[210, 190, 171, 150]"},
    {"[\"west\"]", "[80, 85, 79, 90]"},
};

static void answer_sales(const struct host_call *call, struct host_answer *answer)
{
    for (size_t i = 0; i < sizeof sales / sizeof sales[0]; i++) {
        if (strcmp(call->args.p, sales[i].call) == 0) {
            host_answer_data(answer, sales[i].figures, 0);
            return;
        }
    }
    host_answer_error(answer, "no such region");
}

static void answer_report(const struct host_call *call, struct host_answer *answer)
{
    printf("[report from %s] %s\n", call->cell_id.p, call->args.p);
    host_answer_data(answer, "{\"filed\": true}", 0);
}

static const struct {
    const char *method;
    void (*answer)(const struct host_call *call, struct host_answer *answer);
} methods[] = {{"sales", answer_sales}, {"report", answer_report}};

/* Called while host_execute waits, on its thread. */
static void dispatch(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(call->method.p, methods[i].method) == 0) {
            methods[i].answer(call, answer);
            return;
        }
    }
    host_answer_error(answer, "unknown method");
}

/* ---- what the agent wants to run ---------------------------------------------------- */

static const char analysis[] = "regions = ['north', 'south', 'west']\n"
                               "figures = {r: host._call('sales', [r]) for r in regions}\n"
                               "for region, quarters in figures.items():\n"
                               "    print(f'{region}: {quarters[0]} to {quarters[-1]}')\n"
                               "fell = [r for r, q in figures.items() if q[-1] < q[0]]\n"
                               "host._call('report', [{'fell': fell}])\n";

static const char mistake[] = "host._call('sales', ['east'])";

static const char endless[] = "import time\n"
                              "step = 0\n"
                              "while True:\n"
                              "    step += 1\n"
                              "    print('step', step)\n"
                              "    time.sleep(0.01)\n";

/* ---- the host ------------------------------------------------------------------------- */

static struct host *host;

/* A user who has seen enough presses Stop. */
static void stop_after_three(void *arg, const char *text, size_t n)
{
    int *steps = arg;

    if (memchr(text, '\n', n) && ++*steps == 3) {
        (void)host_interrupt(host);
    }
}

static void show_chunk(void *arg, const char *text, size_t n)
{
    (void)arg;
    (void)fwrite(text, 1, n, stdout);
}

/* The last line of an error: what happened, without where. */
static const char *last_line(const char *error)
{
    const char *at = error + strlen(error);

    while (at > error && (*at == '\0' || *at == '\n')) {
        at--;
    }
    while (at > error && at[-1] != '\n') {
        at--;
    }
    return at;
}

static void run(const char *id, const char *code, host_chunk_fn *chunk, void *arg)
{
    struct host_cell cell = {.code = code, .id = id, .chunk = chunk, .arg = arg};
    struct host_result *result;
    struct host_error error;

    if (host_execute(host, &cell, &result, &error) < 0) {
        (void)fprintf(stderr, "%s: %s\n", host_error_kind(error.code), error.text);
        exit(EXIT_FAILURE);
    }
    if (result->error.p) {
        printf("[%s ended] %s%s", id, last_line(result->error.p), result->interrupted ? "\n" : "");
    }
    host_result_destroy(&result);
}

int main(int argc, char **argv)
{
    struct host_options options = HOST_OPTIONS_INIT;
    struct host_error error;
    int steps = 0;

    options.dispatch = dispatch;
    options.python = argc > 1 ? argv[1] : NULL;
    if (host_new(&options, &host, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    run("analysis", analysis, show_chunk, NULL);
    run("mistake", mistake, show_chunk, NULL);
    run("endless", endless, stop_after_three, &steps);
    run("after", "print('still', len(figures), 'regions,', step >= 3)", show_chunk, NULL);
    if (host_restart(host, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    printf("generation %u\n", host_generation(host));
    run("fresh", "print('figures' in globals())", show_chunk, NULL);
    host_destroy(&host);
    return EXIT_SUCCESS;
}
