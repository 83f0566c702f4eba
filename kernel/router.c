/*
 * Reads the sockets, refuses what is not signed or not a message, and hands
 * the rest to the request's handler. Runs in the kernel process, on the thread
 * of the zloop.
 *
 * What cannot be verified is counted and dropped without an answer. What is
 * signed gets busy and idle, and, if it is of a known kind, exactly one reply;
 * the handler sends the reply, now or later.
 */

#include "kernel/router.h"

#include <errno.h>

#include "bridge/clock.h"
#include "bridge/json_text.h"
#include "kernel/control.h"
#include "kernel/door.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/reply.h"
#include "kernel/requests/requests.h"

/* Messages of one socket that are handled before the loop looks at the others. */
enum { BATCH = 64 };

/* `replied`: that has been done already. */
static void dispatch(struct kernel *kernel, enum channel channel, bool replied)
{
    const struct wire_message *message = &kernel->message;
    struct origin *origin = origin_new(message, channel);
    const struct request_type *type = request_type_find(origin->type);

    if (channel == CHANNEL_CONTROL) {
        origins_note_control(&kernel->origins, origin);
    }
    if (!type) {
        refusals_tell(&kernel->refusals, clock_us(CLOCK_MONOTONIC),
                      "message of unknown type %.*s ignored", (int)origin->type.n,
                      (const char *)origin->type.p);
        iopub_status(&kernel->iopub, origin, "busy");
        iopub_status(&kernel->iopub, origin, "idle");
    } else if (type->queued) {
        type->handle(kernel, origin, message);
    } else {
        output_flush(&kernel->output);
        iopub_status(&kernel->iopub, origin, "busy");
        if (message->content_error != 0 && type->replies) {
            char text[128];

            (void)snprintf(text, sizeof text, "%s: %s", message->bad_part,
                           wire_error_text(message->content_error));
            reply_error(kernel, origin, "ProtocolError", text);
        } else if (!replied) {
            type->handle(kernel, origin, message);
        }
        iopub_status(&kernel->iopub, origin, "idle");
    }
    origin_unref(&origin);
}

/* One message of a socket. -> 0, -EAGAIN: there was none. */
static int receive(struct kernel *kernel, enum channel channel)
{
    struct wire_message *message = &kernel->message;
    bool by_thread = channel == CHANNEL_CONTROL && kernel->control, replied = false;
    int r = by_thread ? control_receive(kernel->control, message, &replied)
                      : wire_receive(sockets_handle(&kernel->sockets, channel), message);

    if (r == -EAGAIN) {
        return r;
    }
    if (r == 0) {
        r = wire_open(message, kernel->signer, kernel->replay);
        kernel->spoken_to |= r == 0;
    }
    if (r < 0) {
        refusals_tell(&kernel->refusals, clock_us(CLOCK_MONOTONIC), "message on %s dropped: %s",
                      channel_names[channel], wire_error_text(r));
    } else if (channel == CHANNEL_STDIN) {
        input_receive(kernel, message);
    } else {
        dispatch(kernel, channel, replied);
    }
    wire_message_release(message);
    if (by_thread && !replied) {
        control_done(kernel->control);
    }
    return 0;
}

void router_drain(struct kernel *kernel)
{
    static const enum channel both[] = {CHANNEL_CONTROL, CHANNEL_SHELL};

    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        while (receive(kernel, both[i]) == 0) {
        }
    }
}

static bool is_held(const struct kernel *kernel, enum channel channel)
{
    return channel == CHANNEL_SHELL && kernel->shell_held;
}

static int on_readable(struct kernel *kernel, enum channel channel)
{
    for (int i = 0; i < BATCH && !is_held(kernel, channel) && receive(kernel, channel) == 0; i++) {
    }
    door_await(kernel);
    return kernel->finished ? -1 : 0;
}

static int on_shell(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    (void)socket;
    return on_readable(arg, CHANNEL_SHELL);
}

static int on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    (void)socket;
    return on_readable(arg, CHANNEL_CONTROL);
}

static int on_stdin(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    (void)socket;
    return on_readable(arg, CHANNEL_STDIN);
}

static int on_iopub(zloop_t *loop, zsock_t *socket, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)socket;
    iopub_receive(&kernel->iopub);
    return 0;
}

static void add_reader(struct kernel *kernel, enum channel channel)
{
    static zloop_reader_fn *const readers[CHANNELS] = {
        [CHANNEL_SHELL] = on_shell,
        [CHANNEL_IOPUB] = on_iopub,
        [CHANNEL_STDIN] = on_stdin,
        [CHANNEL_CONTROL] = on_control,
    };
    zsock_t *socket = kernel->sockets.socket[channel];

    (void)zloop_reader(kernel->loop, socket, readers[channel], kernel);
    zloop_reader_set_tolerant(kernel->loop, socket);
}

void router_pace_shell(struct kernel *kernel)
{
    const struct lane *lane = &kernel->lane;

    if (!kernel->shell_held && lane->queue.bytes > lane->bytes_max) {
        log_warning("%zu MB of requests wait: no more are taken until half of them are done",
                    lane->queue.bytes >> 20);
        kernel->shell_held = true;
        zloop_reader_end(kernel->loop, kernel->sockets.socket[CHANNEL_SHELL]);
    } else if (kernel->shell_held && lane->queue.bytes <= lane->bytes_max / 2) {
        kernel->shell_held = false;
        add_reader(kernel, CHANNEL_SHELL);
    }
}

void router_start(struct kernel *kernel)
{
    /* zloop looks in this order: control comes before the rest. */
    static const enum channel order[] = {CHANNEL_CONTROL, CHANNEL_IOPUB, CHANNEL_STDIN,
                                         CHANNEL_SHELL};

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        add_reader(kernel, order[i]);
    }
}
