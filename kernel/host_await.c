/*
 * Frames between a request and its answer. Part of libeinkorn-host; runs on the
 * thread that has the turn.
 *
 * A worker runs code of strangers, which may find its pipe and write into it. So
 * a line that is no frame is dropped (a few times), a frame of another cell is
 * counted, and what is remembered of any of them is bounded. An answer counts
 * only with the id of the request.
 */

#include "kernel/host_self.h"

#include <errno.h>
#include <string.h>

#include "bridge/buffer.h"
#include "kernel/host_error.h"

enum { STREAM_MAX = 16 * 1024 * 1024 };

int host_send(struct host *self, struct slice line, struct host_error *reterr)
{
    int r = self->transport.write_line(self->transport.arg, (const char *)line.p, line.n);

    return r < 0 ? host_tell_death(self, -r, reterr) : 0;
}

static int out_of_protocol(struct host *self, const char *what, struct host_error *reterr)
{
    self->transport.kill(self->transport.arg);
    return host_error_set(reterr, HOST_EPROTOCOL, 0, "kernel worker %s; it has been killed", what);
}

int host_receive(struct host *self, struct slice *ret_line, struct host_error *reterr)
{
    const char *line = NULL;
    size_t n = 0;
    int r = self->transport.read_line(self->transport.arg, &line, &n);

    if (r == -EMSGSIZE || (r > 0 && n > self->options.line_limit)) {
        return out_of_protocol(self, "sent a line that is longer than the limit", reterr);
    }
    if (r <= 0) {
        return host_tell_death(self, -r, reterr);
    }
    *ret_line = (struct slice){(const uint8_t *)line, n};
    return 0;
}

static void keep_log(struct host *self, const struct host_frame *frame)
{
    struct host_text message = host_frame_text(frame, "msg");

    if (message.p) {
        (void)pthread_mutex_lock(&self->lock);
        host_record_log(&self->record, &message);
        (void)pthread_mutex_unlock(&self->lock);
    }
}

static void take_chunk(struct host *self, struct host_wait *wait, const struct host_frame *frame)
{
    struct host_text text;

    if (!wait->cell || !host_frame_says(frame, "id", wait->id)) {
        (void)pthread_mutex_lock(&self->lock);
        self->stale_chunks++;
        (void)pthread_mutex_unlock(&self->lock);
        return;
    }
    text = host_frame_text(frame, "text");
    if (text.p && wait->stream.n + text.n <= STREAM_MAX) {
        buffer_put(&wait->stream, text.p, text.n);
    }
    if (text.p && wait->cell->chunk) {
        wait->cell->chunk(wait->cell->arg, text.p, text.n);
    }
    host_text_release(&text);
}

/* An event of another cell's is of no cell: nobody can say any more what has been run when. */
static void take_skill_load(struct host *self, const struct host_wait *wait,
                            const struct host_frame *frame)
{
    struct slice event = slice_of("null");

    if (wait->cell && host_frame_says(frame, "id", wait->id)) {
        (void)json_object_find(frame->line, "event", &event);
    }
    (void)pthread_mutex_lock(&self->lock);
    host_skills_take(&self->skills, event);
    (void)pthread_mutex_unlock(&self->lock);
}

/* -> 1: it is the answer; 0: it is not; HOST_EDEAD. */
static int take_frame(struct host *self, struct host_wait *wait, const struct host_frame *frame,
                      struct host_error *reterr)
{
    switch (frame->type) {
    case HOST_FRAME_STDOUT_CHUNK:
        take_chunk(self, wait, frame);
        return 0;
    case HOST_FRAME_HOST_CALL:
        return host_answer_call(self, frame, wait->cell ? wait->id : NULL, reterr);
    case HOST_FRAME_LOG:
        keep_log(self, frame);
        return 0;
    case HOST_FRAME_SKILL_LOAD:
        take_skill_load(self, wait, frame);
        return 0;
    case HOST_FRAME_RESPONSE:
    case HOST_FRAME_VARIABLES_RESPONSE:
        return frame->type == wait->type && host_frame_says(frame, "id", wait->id);
    case HOST_FRAME_INITIALIZED:
    case HOST_FRAME_INITIALIZATION_ERROR:
    case HOST_FRAME_OTHER:
    case HOST_FRAME_TYPES:
        break;
    }
    return 0;
}

int host_await(struct host *self, struct host_wait *wait, struct host_frame *ret_frame,
               struct host_error *reterr)
{
    unsigned malformed = 0;
    int r = 0;

    while (r == 0) {
        struct slice line = {NULL, 0};

        r = host_receive(self, &line, reterr);
        if (r < 0) {
            return r;
        }
        if (line.n == 0) {
            continue;
        }
        if (host_frame_open(ret_frame, line) == 0) {
            r = take_frame(self, wait, ret_frame, reterr);
        } else if (malformed++ == HOST_MALFORMED_MAX) {
            return out_of_protocol(self, "sent too many lines that are no frames", reterr);
        }
    }
    return r < 0 ? r : 0;
}
