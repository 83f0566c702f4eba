/*
 * A kernel that runs nothing: the floor of the benchmark. It has Einkorn's
 * sockets, signatures and messages, but no worker behind them; a cell is busy,
 * execute_input, a reply that says ok, and idle. What Einkorn needs beyond this
 * it needs for Python.
 *
 * One process, one thread of its own. Its loop is a plain zmq_poll, the least
 * there can be. Part of tests/bench, never installed.
 *
 *   null_kernel CONNECTION_FILE
 */

#include <czmq.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/json_text.h"
#include "kernel/connection.h"
#include "kernel/iopub.h"
#include "kernel/message.h"
#include "kernel/sockets.h"

struct null_kernel {
    struct connection connection;
    struct session session;
    struct signer *signer;
    struct replay *replay;
    struct sockets sockets;
    struct iopub iopub;
    struct wire_message message;
    unsigned cells;
    bool finished;
};

struct request_type {
    const char *name, *reply;
    void (*handle)(struct null_kernel *self, const struct origin *origin, const char *reply);
};

static void reply(struct null_kernel *self, const struct origin *origin, const char *type,
                  struct slice content)
{
    (void)message_send(sockets_handle(&self->sockets, origin->channel), &self->session,
                       self->signer, origin, type, slice_of("{}"), content, NULL);
}

static void handle_kernel_info(struct null_kernel *self, const struct origin *origin,
                               const char *type)
{
    /* As long as Einkorn's. */
    static const char content[] =
        "{\"status\":\"ok\",\"protocol_version\":\"5.5\",\"implementation\":\"null\","
        "\"implementation_version\":\"0\",\"debugger\":false,\"supported_features\":[],"
        "\"help_links\":[{\"text\":\"Python Reference\",\"url\":\"https://docs.python.org/3\"}],"
        "\"language_info\":{\"name\":\"none\",\"mimetype\":\"text/x-python\","
        "\"codemirror_mode\":{\"name\":\"ipython\",\"version\":3},"
        "\"pygments_lexer\":\"ipython3\",\"nbconvert_exporter\":\"python\","
        "\"file_extension\":\".py\",\"version\":\"0\"},\"banner\":\"runs nothing\"}";

    reply(self, origin, type, slice_of(content));
}

static void handle_execute(struct null_kernel *self, const struct origin *origin, const char *type)
{
    struct buffer content = BUFFER_INIT;
    struct slice code = slice_of("\"\"");

    (void)json_object_get_kind(self->message.content, "code", JSON_STRING, &code);
    buffer_put_text(&content, "{\"code\":");
    buffer_put_slice(&content, code);
    buffer_printf(&content, ",\"execution_count\":%u}", ++self->cells);
    iopub_publish(&self->iopub, "execute_input", origin, slice_of("{}"), buffer_slice(&content));
    buffer_release(&content);

    buffer_printf(&content,
                  "{\"status\":\"ok\",\"execution_count\":%u,\"user_expressions\":{},"
                  "\"payload\":[]}",
                  self->cells);
    reply(self, origin, type, buffer_slice(&content));
    buffer_release(&content);
}

static void handle_shutdown(struct null_kernel *self, const struct origin *origin, const char *type)
{
    struct slice content = slice_of("{\"status\":\"ok\",\"restart\":false}");

    reply(self, origin, type, content);
    iopub_publish(&self->iopub, type, origin, slice_of("{}"), content);
    self->finished = true;
}

static const struct request_type types[] = {
    {"kernel_info_request", "kernel_info_reply", handle_kernel_info},
    {"execute_request", "execute_reply", handle_execute},
    {"shutdown_request", "shutdown_reply", handle_shutdown},
};

static void dispatch(struct null_kernel *self, enum channel channel)
{
    struct origin *origin = origin_new(&self->message, channel);

    iopub_status(&self->iopub, origin, "busy");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (slice_is(origin->type, types[i].name)) {
            types[i].handle(self, origin, types[i].reply);
        }
    }
    iopub_status(&self->iopub, origin, "idle");
    origin_unref(&origin);
}

/* All messages that lie in a socket now. */
static void receive(struct null_kernel *self, enum channel channel)
{
    void *socket = sockets_handle(&self->sockets, channel);

    while (!self->finished && wire_receive(socket, &self->message) == 0) {
        if (wire_open(&self->message, self->signer, self->replay) == 0) {
            dispatch(self, channel);
        }
        wire_message_release(&self->message);
    }
}

/* Sends frames back as they come. */
static void echo(void *socket)
{
    zmq_msg_t frame;

    (void)zmq_msg_init(&frame);
    while (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) != -1) {
        int more = zmq_msg_more(&frame) ? ZMQ_SNDMORE : 0;

        (void)zmq_msg_send(&frame, socket, ZMQ_DONTWAIT | more);
    }
    (void)zmq_msg_close(&frame);
}

static void serve(struct null_kernel *self)
{
    zmq_pollitem_t item[CHANNELS];

    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        item[channel] = (zmq_pollitem_t){
            .socket = sockets_handle(&self->sockets, channel),
            .events = ZMQ_POLLIN,
        };
    }
    iopub_status(&self->iopub, NULL, "starting");
    while (!self->finished && zmq_poll(item, CHANNELS, -1) >= 0) {
        if (item[CHANNEL_CONTROL].revents) {
            receive(self, CHANNEL_CONTROL);
        }
        if (item[CHANNEL_HB].revents) {
            echo(item[CHANNEL_HB].socket);
        }
        if (item[CHANNEL_IOPUB].revents) {
            iopub_receive(&self->iopub);
        }
        if (item[CHANNEL_SHELL].revents) {
            receive(self, CHANNEL_SHELL);
        }
    }
}

/* -> 0, or negative with a line for the user */
static int open_channels(struct null_kernel *self, char error[CONNECTION_ERROR_MAX])
{
    struct slice key = slice_of(self->connection.key);
    struct signer *iopub_signer;

    if (signer_new(self->connection.scheme, key, &self->signer) < 0 ||
        signer_new(self->connection.scheme, key, &iopub_signer) < 0) {
        (void)snprintf(error, CONNECTION_ERROR_MAX, "unknown signature_scheme");
        return -EINVAL;
    }
    self->replay = replay_new(REPLAY_WINDOW);
    session_init(&self->session, getenv("USER"));
    iopub_init(&self->iopub, NULL, &self->session, iopub_signer);
    if (sockets_open(&self->sockets, &self->connection, -1, error) < 0) {
        return -EADDRINUSE;
    }
    self->iopub.socket = sockets_handle(&self->sockets, CHANNEL_IOPUB);
    return 0;
}

static void release(struct null_kernel *self)
{
    sockets_close(&self->sockets);
    zsys_shutdown();
    iopub_release(&self->iopub);
    signer_destroy(&self->signer);
    replay_destroy(&self->replay);
    connection_release(&self->connection);
}

int main(int argc, char **argv)
{
    static struct null_kernel self; /* a message is large for a stack */
    char error[CONNECTION_ERROR_MAX] = "it takes a connection file";

    sockets_prepare();
    if (argc != 2 || connection_read(argv[1], &self.connection, error) < 0 ||
        open_channels(&self, error) < 0) {
        (void)fprintf(stderr, "null_kernel: %s\n", error);
        return EXIT_FAILURE;
    }
    serve(&self);
    release(&self);
    return EXIT_SUCCESS;
}
