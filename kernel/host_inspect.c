/*
 * host_inspect. Part of libeinkorn-host; any thread.
 *
 * Limits are checked here, and a busy worker is not asked: an answer that comes
 * among the frames of a cell would have to be told from them by whoever reads
 * the cell's.
 */

#include "kernel/host.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernel/host_error.h"
#include "kernel/host_self.h"

static int check_range(int64_t limit, struct host_error *reterr)
{
    return limit >= 1 && limit <= HOST_INSPECT_MAX
               ? 0
               : host_error_set(reterr, HOST_EVALUE, 0,
                                "variable inspection limit must be between 1 and %d",
                                HOST_INSPECT_MAX);
}

int host_inspect_limit(const char *json, int *ret_limit, struct host_error *reterr)
{
    struct slice text = slice_of(json);
    enum json_kind kind;
    char *end;
    long value;
    int r;

    if (json_check(text, 0, &kind) != 0 || kind != JSON_NUMBER || strpbrk(json, ".eE")) {
        return host_error_set(reterr, HOST_ETYPE, 0,
                              "variable inspection limit must be an integer");
    }
    value = strtol(json, &end, 10); /* out of a long's range is its end, and out of ours */
    r = check_range(value, reterr);
    if (r == 0) {
        *ret_limit = (int)value;
    }
    return r;
}

static struct host_variables *make_variables(const struct host_frame *frame)
{
    struct host_variables *self = xcalloc(1, sizeof *self);
    int64_t limit = 0;

    self->json = host_text_of(frame->line);
    self->variables = host_frame_raw(frame, "variables");
    self->error = host_frame_text(frame, "error");
    (void)json_object_get_bool(frame->line, "truncated", false, &self->truncated);
    (void)json_object_get_int(frame->line, "limit", 0, &limit);
    self->limit = (long)limit;
    return self;
}

void host_variables_destroy(struct host_variables **self_p)
{
    if (self_p && *self_p) {
        host_text_release(&(*self_p)->json);
        host_text_release(&(*self_p)->variables);
        host_text_release(&(*self_p)->error);
        free(*self_p);
        *self_p = NULL;
    }
}

int host_inspect(struct host *self, int limit, struct host_variables **ret_variables,
                 struct host_error *reterr)
{
    struct host_wait wait = {.type = HOST_FRAME_VARIABLES_RESPONSE, .stream = BUFFER_INIT};
    struct buffer line = BUFFER_INIT;
    struct host_frame frame;
    char id[HOST_TOKEN_TEXT];
    int r = check_range(limit, reterr);

    if (r == 0) {
        r = host_turn_take(self, false, reterr);
    }
    if (r < 0) {
        return r;
    }
    if (self->connected) {
        host_token(id, 16);
        wait.id = id;
        buffer_printf(&line, "{\"type\":\"inspect_variables\",\"id\":\"%s\",\"limit\":%d}\n", id,
                      limit);
        r = host_send(self, buffer_slice(&line), reterr);
        buffer_release(&line);
    } else {
        r = host_error_set(reterr, HOST_EDEAD, 0, "there is no kernel worker; restart it");
    }
    if (r == 0) {
        r = host_await(self, &wait, &frame, reterr);
    }
    if (r == 0) {
        *ret_variables = make_variables(&frame);
    }
    host_turn_end(self);
    return r;
}
