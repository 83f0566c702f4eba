/*
 * Reports the ports to the launcher. Runs in the kernel process, on the thread
 * of the zloop; owns the socket until the answer is there.
 *
 * Nothing is waited for but in the loop: Python boots meanwhile, and a client
 * may use the ports before the acknowledgement has arrived here. The launcher may
 * be gone, slow, or another program on a port that was its own; whatever it
 * answers, one timer bounds it.
 */

#include "kernel/registration.h"

#include <errno.h>

#include "bridge/check.h"
#include "bridge/json_text.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/message.h"
#include "kernel/stop.h"

/* What an answer turned out to be. */
enum answer { ANSWER_NONE, ANSWER_ACK, ANSWER_REFUSED };

/* ---- saying it ------------------------------------------------------------------- */

/* The five ports as members; as strings ("5001"), or as numbers. */
static void put_ports(const struct connection *connection, const char *quote,
                      struct buffer *content)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        buffer_printf(content, "%s\"%s_port\":%s%d%s", channel > 0 ? "," : "",
                      channel_names[channel], quote, connection->port[channel], quote);
    }
}

/* The specification's form. -> 0, -errno. */
static int send_report(struct kernel *kernel, void *socket)
{
    struct buffer content = BUFFER_INIT;
    char hex[SIGN_HEX_MAX];
    size_t hex_n;
    int r;

    buffer_put_text(&content, "{\"kernel_id\":");
    json_put_string(&content, slice_of(kernel->connection.kernel_id));
    buffer_put_char(&content, ',');
    put_ports(&kernel->connection, "\"", &content);
    buffer_put_char(&content, '}');

    signer_start(kernel->signer);
    signer_add(kernel->signer, buffer_slice(&content));
    hex_n = signer_finish(kernel->signer, hex);
    r = zmq_send(socket, "<IDS|MSG>", strlen("<IDS|MSG>"), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    if (r != -1) {
        r = zmq_send(socket, hex, hex_n, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    }
    if (r != -1) {
        r = zmq_send(socket, content.p, content.n, ZMQ_DONTWAIT);
    }
    r = r == -1 ? -errno : 0;
    buffer_release(&content);
    return r;
}

/* The supervisor's form. -> 0, -errno. */
static int send_request(struct kernel *kernel, void *socket)
{
    const struct origin nobody = {.header = slice_of("{}")};
    struct buffer content = BUFFER_INIT;
    int r;

    buffer_put_char(&content, '{');
    put_ports(&kernel->connection, "", &content);
    buffer_put_char(&content, '}');
    r = message_send(socket, &kernel->session, kernel->signer, &nobody, "handshake_request",
                     slice_of("{}"), buffer_slice(&content), NULL);
    buffer_release(&content);
    return r;
}

/* ---- hearing the answer ------------------------------------------------------------ */

static enum answer ignore(const char *why)
{
    log_warning("registration: an answer is ignored: %s", why);
    return ANSWER_NONE;
}

/* The specification's form. Our own report, echoed, would be signed too. */
static enum answer judge_ack(struct kernel *kernel, const struct wire_message *message)
{
    struct slice ack;

    if (message->frames != 3 || !slice_is(wire_frame(message, 0), "<IDS|MSG>")) {
        return ignore("not an acknowledgement");
    }
    ack = wire_frame(message, 2);
    if (!signer_verify(kernel->signer, &ack, 1, wire_frame(message, 1))) {
        return ignore(wire_error_text(WIRE_ESIGNATURE));
    }
    return slice_is(ack, "ACK") ? ANSWER_ACK : ignore("not an acknowledgement");
}

/* The supervisor's form. It writes null for its empty metadata, so only the content counts. */
static enum answer judge_reply(struct kernel *kernel, struct wire_message *message)
{
    int r = wire_open(message, kernel->signer, kernel->replay);
    struct slice status, error;
    enum json_kind kind;

    if (r != 0) {
        return ignore(wire_error_text(r));
    }
    if (!json_string_is(message->msg_type, "handshake_reply")) {
        return ignore("not a handshake_reply");
    }
    if (json_check(message->content, WIRE_DEPTH_MAX, &kind) != 0 ||
        json_object_get_kind(message->content, "status", JSON_STRING, &status) != 0) {
        return ignore("a handshake_reply without a status");
    }
    if (json_string_is(status, "ok")) {
        return ANSWER_ACK;
    }
    if (json_object_get_kind(message->content, "error", JSON_STRING, &error) != 0) {
        error = status;
    }
    log_error("the launcher refused the registration, ending: %.*s", (int)error.n,
              (const char *)error.p);
    return ANSWER_REFUSED;
}

/* ---- in the loop ------------------------------------------------------------------- */

static int on_answer(zloop_t *loop, zsock_t *socket, void *arg)
{
    struct kernel *kernel = arg;
    struct wire_message *message = &kernel->message;
    enum answer answer;
    int r = wire_receive(zsock_resolve(socket), message);

    (void)loop;
    if (r == -EAGAIN) {
        return 0;
    }
    if (r < 0) {
        answer = ignore(wire_error_text(r));
    } else if (kernel->connection.kernel_id) {
        answer = judge_ack(kernel, message);
    } else {
        answer = judge_reply(kernel, message);
    }
    wire_message_release(message);
    if (answer != ANSWER_NONE) {
        registration_release(kernel);
    }
    if (answer == ANSWER_REFUSED) {
        stop_begin(kernel, EXIT_FAILURE);
    }
    return 0;
}

static int on_too_late(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    char endpoint[CONNECTION_ENDPOINT_MAX];

    (void)loop;
    (void)timer;
    connection_registration_endpoint(&kernel->connection, endpoint, sizeof endpoint);
    log_error("no acknowledgement of the ports from the launcher at %s within %d s, ending",
              endpoint, REGISTRATION_ACK_MS / 1000);
    registration_release(kernel);
    stop_begin(kernel, EXIT_FAILURE);
    return 0;
}

static zsock_t *make_socket(bool dealer)
{
    zsock_t *socket = zsock_new(dealer ? ZMQ_DEALER : ZMQ_REQ);

    CHECK(socket);
    zsock_set_linger(socket, 0); /* after the answer nothing is left to send */
    zsock_set_ipv6(socket, 1);
    zsock_set_maxmsgsize(socket, REGISTRATION_FRAME_MAX);
    return socket;
}

void registration_start(struct kernel *kernel)
{
    struct registration *self = &kernel->registration;
    char endpoint[CONNECTION_ENDPOINT_MAX];
    bool dealer = kernel->connection.kernel_id != NULL;
    int r;

    if (kernel->connection.registration_port == 0) {
        return;
    }
    self->socket = make_socket(dealer);
    connection_registration_endpoint(&kernel->connection, endpoint, sizeof endpoint);
    r = zsock_connect(self->socket, "%s", endpoint) == -1 ? -errno : 0;
    if (r == 0) {
        void *handle = zsock_resolve(self->socket);

        r = dealer ? send_report(kernel, handle) : send_request(kernel, handle);
    }
    if (r < 0) {
        log_error("cannot report the ports to the launcher at %s: %s, ending", endpoint,
                  zmq_strerror(-r));
        zsock_destroy(&self->socket);
        stop_begin(kernel, EXIT_FAILURE);
        return;
    }
    (void)zloop_reader(kernel->loop, self->socket, on_answer, kernel);
    zloop_reader_set_tolerant(kernel->loop, self->socket);
    self->timer = zloop_timer(kernel->loop, REGISTRATION_ACK_MS, 1, on_too_late, kernel);
}

void registration_release(struct kernel *kernel)
{
    struct registration *self = &kernel->registration;

    if (!self->socket) {
        return;
    }
    (void)zloop_timer_end(kernel->loop, self->timer);
    zloop_reader_end(kernel->loop, self->socket);
    zsock_destroy(&self->socket);
}
