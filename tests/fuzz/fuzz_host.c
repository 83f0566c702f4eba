/*
 * Fuzz target: what a worker says, as libeinkorn-host reads it.
 *
 * The bytes are the worker's: cut into reads by the first byte, they go through
 * the reader (host_lines.c) and then, line by line, through a transport into a
 * host that runs one cell after another and looks at variables. Wherever the
 * input has "@ID", the id of the request that runs is put, or nothing would ever
 * be answered. Whatever comes back must hold what host.h promises.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "kernel/host.h"
#include "kernel/host_frame.h"
#include "kernel/host_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { LIMIT = 4096 };

struct worker {
    struct slice input;
    size_t piece; /* bytes of one read */
    struct host_lines lines;
    char id[128]; /* raw, of the last request */
    struct buffer line;
    bool greeted;
};

static int write_line(void *arg, const char *line, size_t n)
{
    struct worker *self = arg;
    struct slice text = {(const uint8_t *)line, n - 1}, id;
    enum json_kind kind;

    CHECK(line[n - 1] == '\n' && !memchr(line, '\n', n - 1));
    CHECK(host_json_check(text, &kind) == 0 && kind == JSON_OBJECT);
    if (json_object_find(text, "id", &id) == 0 && id.n < sizeof self->id &&
        !memmem(line, n, "\"host_response\"", 15)) {
        memcpy(self->id, id.p, id.n);
        self->id[id.n] = '\0';
    }
    return 0;
}

static void expand(struct worker *self, struct slice line)
{
    buffer_clear(&self->line);
    for (size_t i = 0; i < line.n; i++) {
        if (line.n - i >= 3 && memcmp(line.p + i, "@ID", 3) == 0) {
            buffer_put_text(&self->line, self->id);
            i += 2;
        } else {
            buffer_put_char(&self->line, (char)line.p[i]);
        }
    }
}

static int read_line(void *arg, const char **ret_line, size_t *ret_n)
{
    struct worker *self = arg;
    struct slice line;
    int r;

    if (!self->greeted) {
        self->greeted = true;
        buffer_clear(&self->line);
        buffer_printf(&self->line, "{\"type\":\"initialized\",\"id\":%s}", self->id);
    } else {
        while ((r = host_lines_next(&self->lines, &line)) == 0 && self->input.n > 0) {
            size_t take = self->piece < self->input.n ? self->piece : self->input.n;

            memcpy(host_lines_room(&self->lines, take), self->input.p, take);
            host_lines_added(&self->lines, take);
            self->input.p += take;
            self->input.n -= take;
            CHECK(host_lines_waiting(&self->lines) <= LIMIT + self->piece + 1 || r == 0);
        }
        if (r <= 0) {
            return r;
        }
        CHECK(line.n <= LIMIT && !memchr(line.p, '\n', line.n));
        expand(self, line);
    }
    *ret_line = (const char *)self->line.p;
    *ret_n = self->line.n;
    return 1;
}

static bool yes(void *arg)
{
    (void)arg;
    return true;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void close_worker(void *arg, bool graceful)
{
    (void)arg;
    (void)graceful;
}

static int connect_worker(void *arg, struct host_transport *ret_transport)
{
    *ret_transport = (struct host_transport){.arg = arg,
                                             .write_line = write_line,
                                             .read_line = read_line,
                                             .alive = yes,
                                             .interrupt = yes,
                                             .kill = nothing,
                                             .close = close_worker};
    return 0;
}

static void check_json(struct host_text text)
{
    enum json_kind kind;

    CHECK(text.p == NULL ||
          host_json_check((struct slice){(const uint8_t *)text.p, text.n}, &kind) == 0);
    CHECK(text.p == NULL || text.p[text.n] == '\0');
}

static void dispatch(void *arg, const struct host_call *call, struct host_answer *answer)
{
    (void)arg;
    check_json(call->args);
    CHECK(call->method.p);
    host_answer_data(answer, call->args.p, call->args.n); /* may be a soft failure */
}

static void take(void *arg, const char *text, size_t n)
{
    (void)arg;
    CHECK(text[n] == '\0');
}

static bool run(struct host *host)
{
    struct host_cell cell = {.code = "x", .chunk = take};
    struct host_variables *variables = NULL;
    struct host_result *result = NULL;
    struct host_error error;

    if (host_execute(host, &cell, &result, &error) != 0) {
        CHECK(error.code == HOST_EDEAD || error.code == HOST_EPROTOCOL);
        return false;
    }
    CHECK(result->id.p && result->out.p && result->err.p && result->cwd.p);
    check_json(result->json);
    check_json(result->usage);
    check_json(result->files_read);
    host_result_destroy(&result);
    if (host_inspect(host, 5, &variables, &error) != 0) {
        return false;
    }
    check_json(variables->variables);
    host_variables_destroy(&variables);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct worker worker = {.piece = n > 0 ? data[0] % 64 + 1 : 1};
    struct host_options options = HOST_OPTIONS_INIT;
    struct host *host = NULL;
    char **logs;

    if (n > 0) {
        worker.input = (struct slice){data + 1, n - 1};
    }
    host_lines_init(&worker.lines, LIMIT);
    options.connect = connect_worker;
    options.connect_arg = &worker;
    options.generation = "g";
    options.dispatch = dispatch;
    CHECK(host_new(&options, &host, NULL) == 0);
    while (run(host)) {
    }
    logs = host_log_tail_dup(host);
    for (size_t i = 0; logs[i]; i++) {
        CHECK(i < 32 && strlen(logs[i]) <= 8000);
    }
    free(logs);
    host_destroy(&host);
    host_lines_release(&worker.lines);
    buffer_release(&worker.line);
    return 0;
}
