#ifndef TESTS_UNIT_KERNEL_FIXTURE_H
#define TESTS_UNIT_KERNEL_FIXTURE_H

/*
 * A kernel without a Python: real sockets on loopback, one client on all of
 * them, and a real door whose worker's end the test holds.
 */

#include "kernel_worker.h"

static inline void stage_on_busy(void *arg)
{
    struct stage *self = arg;

    self->continued++;
    door_continue(self->kernel);
}

/* As kernel.c does it, but for the worker. */
static inline void stage_init_kernel(struct stage *self)
{
    struct kernel *kernel = self->kernel = calloc(1, sizeof *self->kernel);
    char error[CONNECTION_ERROR_MAX];
    struct signer *signer;
    struct slice key;

    (void)setenv("JUPYTER_RUNTIME_DIR", "/dev/null/none", 1); /* nothing is kept of these */
    kernel->options = &self->options;
    kernel->python = strdup("/no/python");
    kernel->supervisor.pidfd = -1;
    kernel->door_timer = kernel->output_timer = kernel->interrupt_timer = -1;
    kernel->stall_timer = -1;
    kernel->watched[0] = kernel->watched[1] = kernel->watched[2] = -1;
    kernel->signal_fd = signals_open();
    sockets_prepare();
    cell_marker_init(&kernel->marker);
    lane_init(&kernel->lane);
    input_init(&kernel->input);
    session_init(&kernel->session, "tester");
    cr_assert(connection_read("/no/such/kernel.json", &kernel->connection, error) == 0);
    key = slice_of(kernel->connection.key);
    cr_assert(signer_new("hmac-sha256", key, &kernel->signer) == 0);
    cr_assert(signer_new("hmac-sha256", key, &self->signer) == 0);
    cr_assert(signer_new("hmac-sha256", key, &signer) == 0);
    kernel->replay = replay_new(REPLAY_WINDOW);
    cr_assert(sockets_open(&kernel->sockets, &kernel->connection, kernel->signal_fd, error) == 0);
    cr_assert(control_new(&kernel->sockets, &kernel->connection, &kernel->session, "3.11.2",
                          &kernel->control) == 0);
    iopub_init(&kernel->iopub, sockets_handle(&kernel->sockets, CHANNEL_IOPUB), &kernel->session,
               signer);
    kernel->iopub.on_busy = stage_on_busy;
    kernel->iopub.on_busy_arg = self;
    output_init(&kernel->output, &kernel->iopub, 0);
}

static inline zsock_t *stage_connect(struct stage *self, enum channel channel, int type,
                                     const char *identity)
{
    char endpoint[CONNECTION_ENDPOINT_MAX];
    zsock_t *socket = zsock_new(type);

    zsock_set_linger(socket, 0);
    zsock_set_rcvhwm(socket, 0);
    zsock_set_rcvtimeo(socket, STAGE_DEADLINE_MS);
    if (identity) {
        zsock_set_identity(socket, identity);
    }
    connection_endpoint(&self->kernel->connection, channel, endpoint, sizeof endpoint);
    cr_assert(zsock_connect(socket, "%s", endpoint) == 0);
    return socket;
}

/* A client's stdin socket that the kernel's knows of: something came from it. */
static inline zsock_t *stage_connect_stdin(struct stage *self, const char *identity)
{
    zsock_t *socket = stage_connect(self, CHANNEL_STDIN, ZMQ_DEALER, identity);
    zsock_t *kernels = self->kernel->sockets.socket[CHANNEL_STDIN];
    zmsg_t *hello;

    zsock_set_rcvtimeo(kernels, STAGE_DEADLINE_MS);
    cr_assert(zstr_send(socket, "hello") == 0);
    hello = zmsg_recv(kernels);
    cr_assert(hello);
    zmsg_destroy(&hello);
    return socket;
}

static inline void stage_init(struct stage *self)
{
    struct link_fds fds;

    memset(self, 0, sizeof *self);
    stage_init_kernel(self);
    cr_assert(link_consumer_init(&self->kernel->door, &fds, self->stdio) == 0);
    cr_assert(link_producer_init(&self->worker, &fds) == 0);
    cr_assert(link_reader_init(&self->reader, &self->worker) == 0);
    link_sender_init(&self->kernel->sender, &self->kernel->door);

    self->kernel->loop = zloop_new();
    zloop_set_nonstop(self->kernel->loop, true);
    stage_watch(self, self->kernel->signal_fd, stage_on_signal);
    router_start(self->kernel);
    door_start(self->kernel);
    self->client[CHANNEL_SHELL] = stage_connect(self, CHANNEL_SHELL, ZMQ_DEALER, "client");
    self->client[CHANNEL_CONTROL] = stage_connect(self, CHANNEL_CONTROL, ZMQ_DEALER, "client");
    self->client[CHANNEL_STDIN] = stage_connect_stdin(self, "client");
    self->client[CHANNEL_IOPUB] = stage_connect(self, CHANNEL_IOPUB, ZMQ_SUB, NULL);
    zsock_set_subscribe(self->client[CHANNEL_IOPUB], "");
    stage_expect(self, CHANNEL_IOPUB, "iopub_welcome", "", "{\"subscription\":\"\"}");
}

/* With a worker that has said that it is ready. */
static inline void stage_init_ready(struct stage *self)
{
    stage_init(self);
    stage_say_ready(self);
    door_drain(self->kernel);
    door_start(self->kernel);
    cr_assert_eq(self->kernel->worker, WORKER_READY);
}

static inline void stage_release(struct stage *self)
{
    struct kernel *kernel = self->kernel;

    supervisor_signal_group(&kernel->supervisor, SIGKILL);
    supervisor_reap(&kernel->supervisor);
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        zsock_destroy(&self->client[channel]);
    }
    zloop_destroy(&kernel->loop);
    restart_release(kernel);
    buffer_release(&kernel->fd2);
    buffer_release(&kernel->death_report);
    free(kernel->notice);
    lane_release(&kernel->lane);
    remember_release(kernel);
    comms_release(&kernel->comms);
    input_release(&kernel->input);
    output_release(&kernel->output);
    control_destroy(&kernel->control);
    sockets_close(&kernel->sockets);
    zsys_shutdown();
    iopub_release(&kernel->iopub);
    origins_release(&kernel->origins);
    signer_destroy(&kernel->signer);
    signer_destroy(&self->signer);
    replay_destroy(&kernel->replay);
    link_sender_release(&kernel->sender);
    link_reader_release(&self->reader);
    link_producer_release(&self->worker);
    link_consumer_release(&kernel->door);
    connection_release(&kernel->connection);
    buffer_release(&kernel->start_text);
    free(kernel->start_error);
    free(kernel->python);
    (void)close(kernel->signal_fd);
    (void)close(self->stdio[0]);
    (void)close(self->stdio[1]);
    free(kernel);
}

#endif
