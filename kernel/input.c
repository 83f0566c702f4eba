/*
 * Input requests and their answers. Runs in the kernel process, on the thread
 * of the zloop. Owns the requests that are waited for.
 *
 * A reply names its request in parent_header, or, with older clients, says
 * nothing; then it belongs to the oldest request that its client was asked.
 * What belongs to none is stale and thrown away: an answer must never reach
 * the next input().
 */

#include "kernel/input.h"

#include <stdlib.h>

#include "bridge/clock.h"
#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/message.h"

void input_init(struct input *self)
{
    memset(self, 0, sizeof *self);
    self->last = &self->first;
}

/* Takes the request at `place` out of the list and frees it. */
static void remove_at(struct input *self, struct pending_input **place)
{
    struct pending_input *gone = *place;

    *place = gone->next;
    if (!gone->next) {
        self->last = place;
    }
    origin_unref(&gone->origin);
    buffer_release(&gone->msg_id);
    buffer_release(&gone->content);
    free(gone);
}

void input_release(struct input *self)
{
    while (self->first) {
        remove_at(self, &self->first);
    }
}

static void answer(struct kernel *kernel, uint64_t serial, const char *status, struct slice value)
{
    struct slice part[2] = {slice_of(status), value};

    door_send(kernel, LINK_ANSWER, 0, serial, part, 2);
}

static void cancel(struct input *self, uint64_t serial)
{
    for (struct pending_input **at = &self->first; *at; at = &(*at)->next) {
        if ((*at)->serial == serial) {
            remove_at(self, at);
            return;
        }
    }
}

/* Replies that lie in the socket already answer older questions. */
static void drain(struct kernel *kernel)
{
    void *socket = sockets_handle(&kernel->sockets, CHANNEL_STDIN);
    struct wire_message *message = xcalloc(1, sizeof *message);
    int r = 0;

    /* A message that is none is dropped as well; an error of the socket ends it. */
    while (r == 0 || r <= WIRE_EDELIMITER) {
        r = wire_receive(socket, message);
        wire_message_release(message);
    }
    free(message);
}

/* -> 0, -EHOSTUNREACH: the client has no stdin socket, or none yet. */
static int send_request(struct kernel *kernel, struct pending_input *pending)
{
    int r = message_send(sockets_handle(&kernel->sockets, CHANNEL_STDIN), &kernel->session,
                         kernel->signer, pending->origin, "input_request", slice_of("{}"),
                         buffer_slice(&pending->content), &pending->msg_id);

    if (r == 0) {
        buffer_release(&pending->content);
    } else {
        buffer_clear(&pending->msg_id);
    }
    return r;
}

/*
 * A client's sockets connect one by one: its first cell may ask before its stdin
 * is there. So a request that nobody takes is tried again for a moment.
 */
static int on_retry(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    struct pending_input **at = &kernel->input.first;
    bool waits = false;

    while (*at) {
        bool unsent = (*at)->content.n > 0 && send_request(kernel, *at) < 0;

        if (unsent && kernel_now_ms() >= (*at)->give_up_ms) {
            answer(
                kernel, (*at)->serial, "error",
                slice_of("the client that runs this cell has no stdin channel to answer input()"));
            remove_at(&kernel->input, at);
        } else {
            waits |= unsent;
            at = &(*at)->next;
        }
    }
    if (!waits) {
        (void)zloop_timer_end(loop, timer);
        kernel->input.retries = false;
    }
    return 0;
}

void input_ask(struct kernel *kernel, struct origin *origin, uint64_t serial, struct slice content)
{
    struct input *self = &kernel->input;
    struct pending_input *pending;

    if (content.n == 0) {
        cancel(self, serial);
        return;
    }
    if (!self->first) {
        drain(kernel);
    }
    pending = xcalloc(1, sizeof *pending);
    pending->serial = serial;
    pending->origin = origin_ref(origin);
    pending->give_up_ms = kernel_now_ms() + INPUT_GRACE_MS;
    buffer_put_slice(&pending->content, content);
    *self->last = pending;
    self->last = &pending->next;
    if (send_request(kernel, pending) < 0 && !self->retries) {
        self->retries = zloop_timer(kernel->loop, INPUT_RETRY_MS, 0, on_retry, kernel) != -1;
    }
}

static bool same_client(const struct origin *origin, const struct wire_message *message)
{
    return origin->identities > 0 && slice_equal(origin->identity[0], wire_frame(message, 0));
}

/* The request that a reply answers; NULL: none. */
static struct pending_input **find(struct input *self, const struct wire_message *message)
{
    struct slice parent;
    bool named = json_object_get_kind(message->parent_header, "msg_id", JSON_STRING, &parent) == 0;

    for (struct pending_input **at = &self->first; *at; at = &(*at)->next) {
        struct buffer id = BUFFER_INIT;
        bool is_it = !named && (*at)->content.n == 0; /* one that was asked */

        if (named) {
            json_string_decode(parent, &id);
            is_it = slice_equal(buffer_slice(&id), buffer_slice(&(*at)->msg_id));
            buffer_release(&id);
        }
        if (is_it && same_client((*at)->origin, message)) {
            return at;
        }
    }
    return NULL;
}

void input_receive(struct kernel *kernel, const struct wire_message *message)
{
    struct input *self = &kernel->input;
    struct pending_input **pending;
    struct slice value;

    if (!json_string_is(message->msg_type, "input_reply")) {
        refusals_tell(&kernel->refusals, clock_us(CLOCK_MONOTONIC),
                      "message on stdin ignored: it is no input_reply");
        return;
    }
    if (message->content_error != 0 && strcmp(message->bad_part, "parent_header") == 0) {
        refusals_tell(&kernel->refusals, clock_us(CLOCK_MONOTONIC), "input_reply dropped: %s: %s",
                      message->bad_part, wire_error_text(message->content_error));
        return;
    }
    pending = find(self, message);
    if (!pending) {
        log_debug("stale input_reply dropped");
        return;
    }
    if (message->content_error == 0 &&
        json_object_get_kind(message->content, "value", JSON_STRING, &value) == 0) {
        answer(kernel, (*pending)->serial, "ok", value);
    } else {
        answer(kernel, (*pending)->serial, "error", slice_of("the input_reply has no 'value'"));
    }
    remove_at(self, pending);
}
