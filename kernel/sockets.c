/*
 * Makes, binds and closes the five sockets. Runs in the kernel process, on the
 * thread of the zloop. Owns the sockets.
 *
 * Ports are bound exactly as the connection file says and tried again while
 * they are taken: after a restart the old process may hold them for a moment,
 * and a client waits on these and no others.
 */

#include "kernel/sockets.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bridge/check.h"
#include "bridge/clock.h"
#include "kernel/wire.h"

/*
 * ZeroMQ's I/O threads, as bits. One that sends a flood has to wait for its next turn, so what
 * must be answered at once has another.
 */
enum { THREAD_OF_ALL = 1, THREAD_AT_ONCE = 2, THREADS = 2 };

/* What differs between the five; the rest is common. */
static const struct {
    int type;
    int thread;
    bool routes; /* clients reconnect with the same identity; what cannot be sent to one is told */
    int unsent;  /* messages that wait for one client at most; 0: any number */
    int unread;  /* the same, that wait from one client */
} kinds[CHANNELS] = {
    [CHANNEL_SHELL] = {ZMQ_ROUTER, THREAD_OF_ALL, true, SOCKETS_REPLIES_MAX, SOCKETS_REQUESTS_MAX},
    [CHANNEL_IOPUB] = {ZMQ_XPUB, THREAD_OF_ALL, false, 0, 0}, /* counted in bytes: iopub.c */
    [CHANNEL_STDIN] = {ZMQ_ROUTER, THREAD_OF_ALL, true, SOCKETS_REPLIES_MAX, 0},
    [CHANNEL_CONTROL] = {ZMQ_ROUTER, THREAD_AT_ONCE, true, SOCKETS_REPLIES_MAX, 0},
    /* A ROUTER echoes what REP would, and what a DEALER sends without an envelope. */
    [CHANNEL_HB] = {ZMQ_ROUTER, THREAD_AT_ONCE, false, SOCKETS_BEATS_MAX, 0},
};

static int64_t now_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

void sockets_prepare(void)
{
    (void)zsys_handler_set(NULL);
    zsys_set_logstream(stderr);
    zsys_set_io_threads(THREADS);
    zsys_set_pipehwm(0); /* nothing is lost between our own threads */
}

static zsock_t *make(enum channel channel)
{
    zsock_t *socket = zsock_new(kinds[channel].type);

    CHECK(socket);
    zsock_set_affinity(socket, kinds[channel].thread);
    zsock_set_linger(socket, SOCKETS_LINGER_MS);
    zsock_set_sndhwm(socket, kinds[channel].unsent);
    zsock_set_rcvhwm(socket, kinds[channel].unread);
    zsock_set_ipv6(socket, 1);
    zsock_set_maxmsgsize(socket, (int)WIRE_FRAME_MAX);
    if (kinds[channel].routes) {
        zsock_set_router_handover(socket, 1);
        zsock_set_router_mandatory(socket, 1);
    }
    if (kinds[channel].type == ZMQ_XPUB) {
        zsock_set_xpub_verbose(socket, 1);
    }
    zsock_set_tcp_maxrt(socket, SOCKETS_STALL_MS);
    return socket;
}

/* The port in "tcp://127.0.0.1:5555". */
static int bound_port(zsock_t *socket)
{
    const char *colon = strrchr(zsock_endpoint(socket), ':');

    CHECK(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

/* libzmq removes whatever stands at an ipc path, even a socket that is in use. */
static bool ipc_in_use(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool used = false;

    if (fd < 0) {
        return false;
    }
    if (strlen(path) < sizeof address.sun_path) {
        memcpy(address.sun_path, path, strlen(path));
        used = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
               errno == EAGAIN; /* so many wait there that nobody more is let in */
    }
    (void)close(fd);
    return used;
}

/* One attempt. ipc has no port 0: the first number whose path is free is taken. */
static int bind_once(zsock_t *socket, struct connection *connection, enum channel channel,
                     char *endpoint, size_t size)
{
    bool ipc = strcmp(connection->transport, "ipc") == 0;
    bool choose = connection->port[channel] == 0;

    for (int number = 1; ipc && choose && number < 65536; number++) {
        connection->port[channel] = number;
        connection_endpoint(connection, channel, endpoint, size);
        if (access(endpoint + strlen("ipc://"), F_OK) != 0) {
            break;
        }
    }
    connection_endpoint(connection, channel, endpoint, size);
    if (ipc && ipc_in_use(endpoint + strlen("ipc://"))) {
        return -EADDRINUSE;
    }
    if (zsock_bind(socket, "%s", endpoint) == -1) {
        int error = errno ? errno : EINVAL;

        connection->port[channel] = choose ? 0 : connection->port[channel];
        return -error;
    }
    if (choose) {
        connection->changed = true;
        if (!ipc) {
            connection->port[channel] = bound_port(socket);
        }
    }
    return 0;
}

static int bind_patiently(zsock_t *socket, struct connection *connection, enum channel channel,
                          int stop_fd, char *endpoint, size_t size)
{
    int64_t deadline = now_ms() + SOCKETS_BIND_MS;
    int wait_ms = 5, r;

    for (;;) {
        struct pollfd stop = {.fd = stop_fd, .events = POLLIN};

        r = bind_once(socket, connection, channel, endpoint, size);
        if (r != -EADDRINUSE || now_ms() >= deadline) {
            return r;
        }
        if (poll(&stop, 1, wait_ms) > 0) {
            return r;
        }
        wait_ms = wait_ms < 80 ? wait_ms * 2 : wait_ms;
    }
}

int sockets_open(struct sockets *self, struct connection *connection, int stop_fd,
                 char ret_error[CONNECTION_ERROR_MAX])
{
    memset(self, 0, sizeof *self);
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        char endpoint[256];
        int r;

        self->socket[channel] = make(channel);
        r = bind_patiently(self->socket[channel], connection, channel, stop_fd, endpoint,
                           sizeof endpoint);
        if (r < 0) {
            (void)snprintf(ret_error, CONNECTION_ERROR_MAX, "cannot bind %s_port at %s: %s",
                           channel_names[channel], endpoint, zmq_strerror(-r));
            sockets_close(self);
            return r;
        }
    }
    return 0;
}

/* libzmq leaves the files of ipc sockets behind. */
static void close_socket(zsock_t **socket_p)
{
    static const char ipc[] = "ipc:///";
    char path[CONNECTION_ENDPOINT_MAX] = "";
    const char *endpoint = *socket_p ? zsock_endpoint(*socket_p) : NULL;

    if (endpoint && strncmp(endpoint, ipc, sizeof ipc - 1) == 0) {
        (void)snprintf(path, sizeof path, "%s", endpoint + sizeof ipc - 2);
    }
    zsock_destroy(socket_p);
    if (*path) {
        (void)unlink(path);
    }
}

void sockets_close(struct sockets *self)
{
    for (enum channel channel = 0; channel < CHANNELS; channel++) {
        close_socket(&self->socket[channel]);
    }
}

void *sockets_handle(const struct sockets *self, enum channel channel)
{
    return zsock_resolve(self->socket[channel]);
}
