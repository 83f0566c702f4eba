/* Tests of kernel/sockets.c: binding at what the connection says, and what if that is taken. */

#include <criterion/criterion.h>
#include <czmq.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include "kernel/kernel.h"
#include "kernel/sockets.h"

static char error[CONNECTION_ERROR_MAX];

static void connection_init(struct connection *self, const char *transport, const char *ip)
{
    sockets_prepare();
    cr_assert(connection_read("/no/such/kernel.json", self, error) == 0);
    self->changed = false;
    free(self->transport);
    free(self->ip);
    self->transport = strdup(transport);
    self->ip = strdup(ip);
}

/* A path's beginning in a directory of this test's own. */
static void ipc_prefix(char ret_prefix[64])
{
    memcpy(ret_prefix, "/tmp/einkorn-XXXXXX", sizeof "/tmp/einkorn-XXXXXX");
    cr_assert(mkdtemp(ret_prefix));
    memcpy(ret_prefix + strlen(ret_prefix), "/k", sizeof "/k");
}

/* libzmq leaves its sockets' paths behind; Jupyter's clients remove them. */
static void remove_directory(char *prefix)
{
    *strrchr(prefix, '/') = '\0';
    zdir_t *directory = zdir_new(prefix, "-");

    cr_assert(directory);
    zdir_remove(directory, true);
    zdir_destroy(&directory);
    cr_assert(access(prefix, F_OK) != 0, "%s is still there", prefix);
}

/* A listener on some free port of loopback. -> its fd. */
static int take_port(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert(bind(fd, (const struct sockaddr *)&address, n) == 0);
    cr_assert(listen(fd, 1) == 0);
    cr_assert(getsockname(fd, (struct sockaddr *)&address, &n) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

Test(sockets, ports_that_are_0_are_chosen_and_told)
{
    struct connection connection;
    struct sockets sockets;

    connection_init(&connection, "tcp", "127.0.0.1");
    cr_assert(sockets_open(&sockets, &connection, -1, error) == 0, "%s", error);
    cr_assert(connection.changed);
    for (enum channel i = 0; i < CHANNELS; i++) {
        char endpoint[CONNECTION_ENDPOINT_MAX];

        cr_assert_gt(connection.port[i], 0);
        connection_endpoint(&connection, i, endpoint, sizeof endpoint);
        cr_assert_str_eq(zsock_endpoint(sockets.socket[i]), endpoint);
        for (enum channel j = 0; j < i; j++) {
            cr_assert_neq(connection.port[i], connection.port[j]);
        }
    }
    sockets_close(&sockets);
    sockets_close(&sockets);
    connection_release(&connection);
    zsys_shutdown();
}

Test(sockets, given_ports_are_bound_as_they_are_and_change_nothing)
{
    struct connection connection;
    struct sockets sockets;
    int fd[CHANNELS], port[CHANNELS];

    connection_init(&connection, "tcp", "127.0.0.1");
    for (enum channel i = 0; i < CHANNELS; i++) {
        fd[i] = take_port(&port[i]);
        connection.port[i] = port[i];
    }
    for (enum channel i = 0; i < CHANNELS; i++) {
        (void)close(fd[i]);
    }
    cr_assert(sockets_open(&sockets, &connection, -1, error) == 0, "%s", error);
    cr_assert_not(connection.changed);
    for (enum channel i = 0; i < CHANNELS; i++) {
        cr_assert_eq(connection.port[i], port[i]);
    }
    sockets_close(&sockets);
    connection_release(&connection);
    zsys_shutdown();
}

Test(sockets, each_has_its_type_and_its_limits)
{
    static const int types[CHANNELS] = {
        [CHANNEL_SHELL] = ZMQ_ROUTER,   [CHANNEL_IOPUB] = ZMQ_XPUB, [CHANNEL_STDIN] = ZMQ_ROUTER,
        [CHANNEL_CONTROL] = ZMQ_ROUTER, [CHANNEL_HB] = ZMQ_ROUTER,
    };
    static const int unsent[CHANNELS] = {
        [CHANNEL_SHELL] = SOCKETS_REPLIES_MAX,   [CHANNEL_IOPUB] = 0, /* counted in bytes */
        [CHANNEL_STDIN] = SOCKETS_REPLIES_MAX,   [CHANNEL_HB] = SOCKETS_BEATS_MAX,
        [CHANNEL_CONTROL] = SOCKETS_REPLIES_MAX,
    };
    struct connection connection;
    struct sockets sockets;

    connection_init(&connection, "tcp", "127.0.0.1");
    cr_assert(sockets_open(&sockets, &connection, -1, error) == 0);
    for (enum channel i = 0; i < CHANNELS; i++) {
        cr_assert_eq(zsock_type(sockets.socket[i]), types[i], "%s", channel_names[i]);
        cr_assert_eq(zsock_sndhwm(sockets.socket[i]), unsent[i], "%s", channel_names[i]);
        cr_assert_eq(zsock_tcp_maxrt(sockets.socket[i]), SOCKETS_STALL_MS);
        cr_assert_eq(zsock_rcvhwm(sockets.socket[i]),
                     i == CHANNEL_SHELL ? SOCKETS_REQUESTS_MAX : 0);
        cr_assert_eq(zsock_linger(sockets.socket[i]), SOCKETS_LINGER_MS);
        cr_assert_eq(sockets_handle(&sockets, i), zsock_resolve(sockets.socket[i]));
    }
    sockets_close(&sockets);
    connection_release(&connection);
    zsys_shutdown();
}

/* How long the failure to bind the control port took. */
static long long fail_to_bind(int stop_fd, const char *words)
{
    struct connection connection;
    struct sockets sockets;
    char wanted[CONNECTION_ERROR_MAX];
    long long start;
    int port, taken = take_port(&port);

    connection_init(&connection, "tcp", "127.0.0.1");
    connection.port[CHANNEL_CONTROL] = port;
    start = kernel_now_ms();
    cr_assert_eq(sockets_open(&sockets, &connection, stop_fd, error), -EADDRINUSE);
    (void)snprintf(wanted, sizeof wanted, "cannot bind control_port at tcp://127.0.0.1:%d: %s",
                   port, words);
    cr_assert_str_eq(error, wanted);
    for (enum channel i = 0; i < CHANNELS; i++) {
        cr_assert_null(sockets.socket[i], "nothing stays open");
    }
    connection_release(&connection);
    (void)close(taken);
    zsys_shutdown();
    return kernel_now_ms() - start;
}

Test(sockets, a_taken_port_is_tried_for_a_while_and_then_named)
{
    cr_assert_geq(fail_to_bind(-1, "Address already in use"), SOCKETS_BIND_MS);
}

Test(sockets, a_signal_ends_the_trying)
{
    int stop = eventfd(1, 0);

    cr_assert_lt(fail_to_bind(stop, "Address already in use"), SOCKETS_BIND_MS);
    (void)close(stop);
}

/* A listener at the address that the shell socket wants. */
static int listen_at(const char *prefix, struct sockaddr_un *ret_address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%s-11", prefix);
    cr_assert(bind(fd, (const struct sockaddr *)ret_address, sizeof *ret_address) == 0);
    return fd;
}

static void *close_when_tried(void *arg)
{
    struct pollfd fds = {.fd = *(int *)arg, .events = POLLIN};

    cr_assert_eq(poll(&fds, 1, 10000), 1);
    (void)close(fds.fd);
    return NULL;
}

Test(sockets, an_address_that_becomes_free_meanwhile_is_taken)
{
    struct sockaddr_un address;
    struct connection connection;
    struct sockets sockets;
    pthread_t thread;
    char prefix[64];
    int fd;

    ipc_prefix(prefix);
    connection_init(&connection, "ipc", prefix);
    connection.port[CHANNEL_SHELL] = 11;
    fd = listen_at(prefix, &address);
    cr_assert(listen(fd, 1) == 0);
    cr_assert(pthread_create(&thread, NULL, close_when_tried, &fd) == 0);
    cr_assert(sockets_open(&sockets, &connection, -1, error) == 0, "%s", error);
    cr_assert_eq(connection.port[CHANNEL_SHELL], 11);
    (void)pthread_join(thread, NULL);
    sockets_close(&sockets);
    zsys_shutdown();
    connection_release(&connection);
    remove_directory(prefix);
}

Test(sockets, ipc_takes_the_first_free_numbers)
{
    char prefix[64], path[96];
    struct connection connection;
    struct sockets sockets;

    ipc_prefix(prefix);
    connection_init(&connection, "ipc", prefix);
    (void)snprintf(path, sizeof path, "%s-2", prefix);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600)); /* somebody's file */
    cr_assert(sockets_open(&sockets, &connection, -1, error) == 0, "%s", error);
    cr_assert(connection.changed);
    cr_assert_arr_eq(connection.port, ((int[CHANNELS]){1, 3, 4, 5, 6}), sizeof connection.port);
    sockets_close(&sockets);
    zsys_shutdown();
    cr_assert(unlink(path) == 0);
    connection_release(&connection);
    remove_directory(prefix);
}

Test(sockets, ipc_leaves_a_socket_in_use_alone_and_takes_over_a_dead_one)
{
    static const struct {
        bool alive;
        int result;
    } rows[] = {{true, -EADDRINUSE}, {false, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_un address;
        int fd, stop = eventfd(1, 0);
        char prefix[64];
        struct connection connection;
        struct sockets sockets;

        ipc_prefix(prefix);
        connection_init(&connection, "ipc", prefix);
        for (enum channel j = 0; j < CHANNELS; j++) {
            connection.port[j] = (int)j + 11;
        }
        fd = listen_at(prefix, &address);
        if (rows[i].alive) {
            cr_assert(listen(fd, 1) == 0);
        }
        cr_assert_eq(sockets_open(&sockets, &connection, stop, error), rows[i].result);
        if (rows[i].result < 0) {
            cr_assert(strstr(error, "cannot bind shell_port at ipc:///tmp/"), "%s", error);
            cr_assert(access(address.sun_path, F_OK) == 0);
        }
        sockets_close(&sockets);
        zsys_shutdown();
        (void)unlink(address.sun_path);
        (void)close(fd);
        (void)close(stop);
        connection_release(&connection);
        remove_directory(prefix);
    }
}

Test(sockets, an_ipc_socket_that_lets_nobody_in_is_in_use_and_not_waited_for, .timeout = 20)
{
    struct sockaddr_un address;
    struct connection connection;
    struct sockets sockets;
    char prefix[64];
    int fd, waiting[2], stop = eventfd(1, 0);

    ipc_prefix(prefix);
    connection_init(&connection, "ipc", prefix);
    connection.port[CHANNEL_SHELL] = 11;
    fd = listen_at(prefix, &address);
    cr_assert(listen(fd, 0) == 0);
    for (int i = 0; i < 2; i++) { /* the second may find no room any more */
        waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (const struct sockaddr *)&address, sizeof address);
    }
    cr_assert_eq(sockets_open(&sockets, &connection, stop, error), -EADDRINUSE);
    (void)close(waiting[0]);
    (void)close(waiting[1]);
    (void)close(fd);
    (void)close(stop);
    connection_release(&connection);
    remove_directory(prefix);
    zsys_shutdown();
}

Test(sockets, an_address_that_is_not_ours_is_refused_at_once)
{
    struct connection connection;
    struct sockets sockets;
    long long start;

    connection_init(&connection, "tcp", "192.0.2.1"); /* RFC 5737: nobody's */
    connection.port[CHANNEL_SHELL] = 49151;           /* for port 0 CZMQ tries 16,384 of them */
    start = kernel_now_ms();
    cr_assert_lt(sockets_open(&sockets, &connection, -1, error), 0);
    cr_assert(strstr(error, "cannot bind shell_port at tcp://192.0.2.1:49151: "), "%s", error);
    cr_assert_lt(kernel_now_ms() - start, SOCKETS_BIND_MS);
    connection_release(&connection);
    zsys_shutdown();
}
