/*
 * host_execute. Part of libeinkorn-host; any thread, one at a time.
 */

#include "kernel/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernel/host_error.h"
#include "kernel/host_self.h"
#include "kernel/host_thread.h"

static void put_request(struct buffer *line, const struct host_cell *cell, const char *id)
{
    size_t n = cell->code_n > 0 ? cell->code_n : strlen(cell->code);

    buffer_put_text(line, "{\"type\":\"execute\",\"id\":");
    json_put_string(line, slice_of(id));
    buffer_put_text(line, ",\"origin\":");
    json_put_string(line, slice_of(cell->origin ? cell->origin : "agent"));
    buffer_put_text(line, ",\"code\":");
    json_put_string(line, (struct slice){(const uint8_t *)cell->code, n});
    buffer_put_text(line, "}\n");
}

/* A list of skill events in the frame is of an older kind of loader: ours are better. */
static bool is_replaced(const struct host_result *self, struct slice key)
{
    return json_string_is(key, "cwd") ||
           (self->skill_loads.p && json_string_is(key, "skill_sidecar_loads"));
}

/*
 * The frame with the workspace and the skill events in it. Where a response was too large for the
 * wire, the worker sent one without texts; what was printed has come as chunks.
 */
static struct host_text annotated(const struct host_frame *frame, const struct host_result *self)
{
    struct buffer json = BUFFER_INIT;
    struct slice key, value;
    struct host_text text;
    size_t at = 0;

    buffer_put_char(&json, '{');
    while (json_object_next(frame->line, &at, &key, &value)) {
        if (is_replaced(self, key)) {
            continue;
        }
        buffer_put_slice(&json, key);
        buffer_put_char(&json, ':');
        if (json_string_is(key, "stdout") && value.n == 2 && self->out.n > 0) {
            json_put_string(&json, (struct slice){(const uint8_t *)self->out.p, self->out.n});
        } else {
            buffer_put_slice(&json, value);
        }
        buffer_put_char(&json, ',');
    }
    if (self->skill_loads.p) {
        buffer_put_text(&json, "\"skill_sidecar_loads\":");
        buffer_put_text(&json, self->skill_loads.p);
        buffer_put_char(&json, ',');
    }
    buffer_put_text(&json, "\"cwd\":");
    json_put_string(&json, slice_of(self->cwd.p));
    buffer_put_char(&json, '}');
    text = host_text_of(buffer_slice(&json));
    buffer_release(&json);
    return text;
}

static struct host_text or_empty(struct host_text text)
{
    return text.p ? text : host_text_of(slice_of(""));
}

/* `loads` is taken. */
static struct host_result *make_result(const struct host_frame *frame, const char *cwd,
                                       struct buffer *stream, struct host_text loads)
{
    struct host_result *self = xcalloc(1, sizeof *self);
    struct slice trace;

    self->id = or_empty(host_frame_text(frame, "id"));
    self->out = or_empty(host_frame_text(frame, "stdout"));
    self->err = or_empty(host_frame_text(frame, "stderr"));
    self->error = host_frame_text(frame, "error");
    self->guards = host_frame_raw(frame, "guards");
    self->files_read = host_frame_raw(frame, "files_read");
    self->usage = host_frame_raw(frame, "usage");
    self->cwd = host_text_of(slice_of(cwd));
    (void)json_object_get_bool(frame->line, "interrupted", false, &self->interrupted);
    if (json_object_get_kind(frame->line, "trace", JSON_OBJECT, &trace) == 0) {
        struct host_frame inner = {.line = trace};
        int64_t line = 0;

        (void)json_object_get_int(trace, "error_lineno", 0, &line);
        self->error_lineno = (long)line;
        self->error_call = host_frame_text(&inner, "error_call");
    }
    if (self->out.n == 0 && stream->n > 0) {
        host_text_release(&self->out);
        self->out = host_text_of(buffer_slice(stream));
    }
    self->skill_loads =
        loads.p ? loads : host_frame_raw(frame, "skill_sidecar_loads"); /* of older loaders */
    self->json = annotated(frame, self);
    return self;
}

void host_result_destroy(struct host_result **self_p)
{
    if (self_p && *self_p) {
        struct host_result *self = *self_p;
        struct host_text *const texts[] = {&self->json,   &self->id,         &self->out,
                                           &self->err,    &self->error,      &self->error_call,
                                           &self->guards, &self->files_read, &self->usage,
                                           &self->cwd,    &self->skill_loads};

        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            host_text_release(texts[i]);
        }
        free(self);
        *self_p = NULL;
    }
}

static void kill_host(void *arg)
{
    host_kill(arg);
}

static struct host_text end_skills(struct host *self)
{
    struct host_text loads;

    (void)pthread_mutex_lock(&self->lock);
    loads = host_skills_end_cell(&self->skills);
    (void)pthread_mutex_unlock(&self->lock);
    return loads;
}

/* With the turn and a worker. */
static int run(struct host *self, const struct host_cell *cell, const char *id,
               struct host_result **ret_result, struct host_error *reterr)
{
    struct host_wait wait = {
        .type = HOST_FRAME_RESPONSE, .id = id, .cell = cell, .stream = BUFFER_INIT};
    struct buffer line = BUFFER_INIT;
    struct host_deadline deadline;
    struct host_text loads;
    struct host_frame frame;
    int r = host_deadline_start(&deadline, cell->limit_ms, kill_host, self);

    if (r < 0) {
        return host_error_set(reterr, HOST_EVALUE, -r, "no thread for the cell's time limit: %s",
                              strerror(-r));
    }
    put_request(&line, cell, id);
    r = host_send(self, buffer_slice(&line), reterr);
    buffer_release(&line);
    if (r == 0) {
        r = host_await(self, &wait, &frame, reterr);
    }
    loads = end_skills(self);
    if (r == 0) {
        *ret_result = make_result(&frame, self->cwd, &wait.stream, loads);
    } else {
        host_text_release(&loads);
    }
    if (host_deadline_stop(&deadline) && r < 0) {
        r = host_error_set(reterr, HOST_EDEADLINE, 0,
                           "the cell ran longer than %u ms; its worker has been killed",
                           cell->limit_ms);
    }
    buffer_release(&wait.stream);
    return r;
}

int host_execute(struct host *self, const struct host_cell *cell, struct host_result **ret_result,
                 struct host_error *reterr)
{
    char made[64];
    int r;

    if (!cell->code) {
        return host_error_set(reterr, HOST_EVALUE, 0, "a cell needs code");
    }
    r = host_turn_take(self, true, reterr);
    if (r < 0) {
        return r;
    }
    (void)snprintf(made, sizeof made, "%s-%lu", self->id_prefix, ++self->cells);
    if (self->connected) {
        r = run(self, cell, cell->id ? cell->id : made, ret_result, reterr);
    } else {
        r = host_error_set(reterr, HOST_EDEAD, 0, "there is no kernel worker; restart it");
    }
    host_turn_end(self);
    return r;
}
