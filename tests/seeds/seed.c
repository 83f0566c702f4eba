/* The fixture of the tests in this directory. */

#include "tests/seeds/seed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"

/* ---- the tap -------------------------------------------------------------------------- */

static int tapped_write(void *arg, const char *line, size_t n)
{
    struct seed *self = arg;

    if (self->mute_answers && memmem(line, n, "\"host_response\"", 15)) {
        return 0;
    }
    return self->wire.write_line(self->wire.arg, line, n);
}

static int tapped_read(void *arg, const char **ret_line, size_t *ret_n)
{
    struct seed *self = arg;
    int r;

    if (self->inject) {
        *ret_line = self->inject;
        *ret_n = strlen(self->inject);
        self->inject = NULL;
        return 1;
    }
    r = self->wire.read_line(self->wire.arg, ret_line, ret_n);
    if (r == 1 && self->tap) {
        self->tap(self, *ret_line, *ret_n);
    }
    return r;
}

static bool tapped_alive(void *arg)
{
    return ((struct seed *)arg)->wire.alive(((struct seed *)arg)->wire.arg);
}

static bool tapped_interrupt(void *arg)
{
    return ((struct seed *)arg)->wire.interrupt(((struct seed *)arg)->wire.arg);
}

static void tapped_kill(void *arg)
{
    ((struct seed *)arg)->wire.kill(((struct seed *)arg)->wire.arg);
}

static void tapped_close(void *arg, bool graceful)
{
    ((struct seed *)arg)->wire.close(((struct seed *)arg)->wire.arg, graceful);
}

static int tapped_connect(void *arg, struct host_transport *ret_transport)
{
    struct seed *self = arg;
    const char *const argv[] = {SEED_EINKORN, "frames", "--python", SEED_PYTHON, NULL};
    struct host_environment of = {.cwd = self->directory, .interpreter = SEED_PYTHON};
    char **environment = host_environment_new(&of);
    struct host_pipe_options pipes = {
        .argv = argv, .environment = environment, .cwd = self->directory};
    int r = host_pipe_transport(&pipes, &self->wire);

    free(environment);
    *ret_transport = (struct host_transport){.arg = self,
                                             .write_line = tapped_write,
                                             .read_line = tapped_read,
                                             .alive = tapped_alive,
                                             .interrupt = tapped_interrupt,
                                             .kill = tapped_kill,
                                             .close = tapped_close};
    return r;
}

void seed_write(struct seed *self, const char *line)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s\n", line);

    cr_assert_eq(self->wire.write_line(self->wire.arg, text, (size_t)n), 0);
}

/* ---- the worker ------------------------------------------------------------------------ */

void seed_init(struct seed *self)
{
    char name[] = "/tmp/einkorn-XXXXXX";

    *self = (struct seed){.options = HOST_OPTIONS_INIT};
    cr_assert(mkdtemp(name));
    (void)snprintf(self->directory, sizeof self->directory, "%s", name);
    self->options.einkorn = SEED_EINKORN;
    self->options.python = SEED_PYTHON;
    self->options.cwd = self->directory;
    self->options.ready_ms = 60000; /* a machine under load */
}

void seed_start(struct seed *self)
{
    if (self->tap || self->tapped) {
        self->options.connect = tapped_connect;
        self->options.connect_arg = self;
    }
    cr_assert_eq(host_new(&self->options, &self->host, &self->error), 0, "%s", self->error.text);
}

void seed_begin(struct seed *self, host_dispatch_fn *dispatch)
{
    seed_init(self);
    self->options.dispatch = dispatch;
    seed_start(self);
}

void seed_end(struct seed *self)
{
    host_destroy(&self->host);
    remove_tree(self->directory);
}

struct host_result *seed_run(struct seed *self, const char *code)
{
    struct host_cell cell = {.code = code};
    struct host_result *result = NULL;

    cr_assert_eq(host_execute(self->host, &cell, &result, &self->error), 0, "%s", self->error.text);
    return result;
}

void seed_expect(struct seed *self, const char *code, const char *expected)
{
    struct host_result *result = seed_run(self, code);

    cr_assert_null(result->error.p, "%s", result->error.p);
    cr_assert_str_eq(result->out.p, expected);
    host_result_destroy(&result);
}

/* ---- dispatchers ------------------------------------------------------------------------ */

void seed_echo(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    if (strcmp(call->method.p, "ping") == 0) {
        host_answer_data(answer, "\"pong\"", 6);
    } else if (strcmp(call->method.p, "add") == 0) {
        json_t *args = json_loads(call->args.p, 0, NULL), *number;
        json_int_t sum = 0;
        char text[32];
        size_t i;

        json_array_foreach(json_object_get(json_array_get(args, 0), "nums"), i, number)
        {
            sum += json_integer_value(number);
        }
        host_answer_data(answer, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)sum));
        json_decref(args);
    } else {
        char text[128];

        (void)snprintf(text, sizeof text, "unknown method %s", call->method.p);
        host_answer_error(answer, text);
    }
}

void seed_ping_is_an_event(void *arg, const struct host_call *call, struct host_answer *answer)
{
    if (strcmp(call->method.p, "ping") == 0) {
        seed_event_set(arg);
    }
    seed_echo(NULL, call, answer);
}

/* ---- other threads ------------------------------------------------------------------------ */

static void *run(void *arg)
{
    struct seed_cell *self = arg;

    self->r = host_execute(self->seed->host, &self->cell, &self->result, &self->error);
    return NULL;
}

void seed_cell_begin(struct seed_cell *self, struct seed *seed, const char *code)
{
    self->seed = seed;
    self->cell.code = code;
    self->result = NULL;
    cr_assert_eq(pthread_create(&self->thread, NULL, run, self), 0);
}

/* A minute from now. */
static struct timespec soon(clockid_t clock)
{
    struct timespec at;

    (void)clock_gettime(clock, &at);
    at.tv_sec += 60;
    return at;
}

struct host_result *seed_cell_end(struct seed_cell *self)
{
    struct timespec at = soon(CLOCK_REALTIME);

    cr_assert_eq(pthread_timedjoin_np(self->thread, NULL, &at), 0, "the cell does not end");
    cr_assert_eq(self->r, 0, "%s", self->error.text);
    return self->result;
}

void seed_event_set(struct seed_event *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->happened = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->lock);
}

void seed_event_wait(struct seed_event *self)
{
    struct timespec at = soon(CLOCK_REALTIME);
    int r = 0;

    (void)pthread_mutex_lock(&self->lock);
    while (!self->happened && r == 0) {
        r = pthread_cond_timedwait(&self->changed, &self->lock, &at);
    }
    (void)pthread_mutex_unlock(&self->lock);
    cr_assert_eq(r, 0, "it does not happen");
}
