/*
 * One call of the worker, from its frame to the answer on the wire. Part of
 * libeinkorn-host; runs on the thread that has the turn, as does the dispatcher.
 * Owns the answer while there is one.
 */

#include "kernel/host_self.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridge/buffer.h"
#include "kernel/host_error.h"

struct host_answer {
    bool failed;
    struct buffer json; /* of the data, or of the error */
};

void host_answer_error(struct host_answer *self, const char *text)
{
    self->failed = true;
    buffer_clear(&self->json);
    json_put_string(&self->json, slice_of(text));
}

/* The one member of `{"error": x}`: a soft failure. An error with siblings is data. */
static bool is_soft_failure(struct slice object, struct slice *ret_error)
{
    struct slice key, error, more;
    size_t at = 0;

    if (json_kind_of(object) != JSON_OBJECT || !json_object_next(object, &at, &key, &error) ||
        !json_string_is(key, "error") || json_object_next(object, &at, &key, &more)) {
        return false;
    }
    *ret_error = error;
    return true;
}

void host_answer_data(struct host_answer *self, const char *json, size_t n)
{
    struct slice text = {(const uint8_t *)json, n > 0 ? n : strlen(json)};
    struct slice error = {NULL, 0};
    enum json_kind kind;

    if (host_json_check(text, &kind) < 0) {
        host_answer_error(self, "the host's answer is not JSON");
        return;
    }
    while (json_kind_of(text) == JSON_OBJECT && *text.p != '{') {
        text.p++;
        text.n--;
    }
    self->failed = is_soft_failure(text, &error);
    buffer_clear(&self->json);
    buffer_put_slice(&self->json, self->failed ? error : text);
    /* Line ends can stand between its tokens only, and would end the frame. */
    for (size_t i = 0; i < self->json.n; i++) {
        if (self->json.p[i] == '\n' || self->json.p[i] == '\r') {
            self->json.p[i] = ' ';
        }
    }
}

/* ---- bash capabilities --------------------------------------------------------------------- */

/*
 * What a worker may run it is told for itself alone: a request that names
 * another spawn (a worker that was restarted, or a cell that makes one up) does
 * not reach the dispatcher.
 */
static bool is_bound_elsewhere(const struct host *self, struct slice method, struct slice args)
{
    struct slice first = args, generation;

    if (!*self->authorization ||
        (!slice_is(method, "authorize_bash") && !slice_is(method, "consume_bash_authorization"))) {
        return false;
    }
    if (json_kind_of(args) != JSON_ARRAY) {
        return true;
    }
    do {
        first.p++;
        first.n--;
    } while (first.n > 0 && strchr("[ \t", *first.p));
    return first.n == 0 || *first.p != '{' ||
           json_object_get_kind(first, "generation", JSON_STRING, &generation) != 0 ||
           !json_string_is(generation, self->authorization);
}

/* ---- the call -------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void dispatch(const struct host *self, const struct host_call *call,
                     struct host_answer *answer)
{
    struct slice method = {(const uint8_t *)call->method.p, call->method.n};
    struct slice args = {(const uint8_t *)call->args.p, call->args.n};

    if (is_bound_elsewhere(self, method, args)) {
        host_answer_error(answer, "bash capability is bound to another kernel generation");
    } else if (!self->options.dispatch) {
        host_answer_error(answer, "no host dispatcher configured");
    } else {
        self->options.dispatch(self->options.dispatch_arg, call, answer);
        if (answer->json.n == 0) {
            host_answer_data(answer, "null", 4);
        }
    }
}

static int send_answer(struct host *self, const struct host_text *id,
                       const struct host_answer *answer, struct host_error *reterr)
{
    struct buffer line = BUFFER_INIT;
    int r;

    buffer_put_text(&line, "{\"type\":\"host_response\",\"id\":");
    buffer_put(&line, id->p, id->n);
    buffer_put_text(&line, answer->failed ? ",\"error\":" : ",\"data\":");
    buffer_put_slice(&line, buffer_slice(&answer->json));
    buffer_put_text(&line, "}\n");
    r = host_send(self, buffer_slice(&line), reterr);
    buffer_release(&line);
    return r;
}

int host_answer_call(struct host *self, const struct host_frame *frame, const char *cell_id,
                     struct host_error *reterr)
{
    struct host_text id = host_frame_raw(frame, "id");
    struct host_call call = {
        .method = host_frame_text(frame, "method"),
        .args = host_frame_raw(frame, "args"),
        .generation = self->authorization,
    };
    struct host_answer answer = {.json = BUFFER_INIT};
    int r = 0;

    /* Without an id nobody waits, and a call without a method or arguments is not one. */
    if (id.p && call.method.p && call.args.p) {
        double start = now();

        if (cell_id) {
            call.cell_id = (struct host_text){cell_id, strlen(cell_id)};
        }
        dispatch(self, &call, &answer);
        (void)pthread_mutex_lock(&self->lock);
        host_record_call(&self->record,
                         (struct slice){(const uint8_t *)call.method.p, call.method.n}, cell_id,
                         answer.failed, now() - start);
        (void)pthread_mutex_unlock(&self->lock);
        r = send_answer(self, &id, &answer, reterr);
    }
    buffer_release(&answer.json);
    host_text_release(&call.method);
    host_text_release(&call.args);
    host_text_release(&id);
    return r;
}
