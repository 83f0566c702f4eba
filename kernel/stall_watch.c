/*
 * Finds subscribers that stand still. Runs in the kernel process, on the thread
 * of the zloop. Linux only: /proc/self/fd and the counts of SIOCOUTQ and
 * TCP_INFO. Owns nothing but what it remembers of each connection.
 *
 * ZeroMQ owns the connections and shows none of them. Its ZMQ_TCP_MAXRT would do
 * for tcp, but not for ipc, and it would not say whom it disconnected. So our own
 * fds are looked through, only while messages wait: the ones that are connections
 * of the iopub socket are known by their address. A connection is duplicated
 * before it is judged, so that ZeroMQ may close it at any moment and the number be
 * used again: what is shut down is what was looked at. ZeroMQ sees the end of the
 * connection, and frees what it had queued for it.
 */

#include "kernel/stall_watch.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "kernel/log.h"

enum {
    LOOKS = 16, /* in the time that a subscriber has */
    INTERVAL_MIN_MS = 10,
    INTERVAL_MAX_MS = 1000,
    KEPT = 4 << 20, /* bytes of a backlog that the next one may as well use again */
};

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

/* Is this address the one that the iopub socket is bound to? */
static bool is_iopub(const union address *address, const struct connection *connection)
{
    static const char ipc[] = "ipc://";
    char endpoint[CONNECTION_ENDPOINT_MAX];

    switch (address->any.sa_family) {
    case AF_INET:
        return ntohs(address->in.sin_port) == connection->port[CHANNEL_IOPUB];
    case AF_INET6:
        return ntohs(address->in6.sin6_port) == connection->port[CHANNEL_IOPUB];
    case AF_UNIX:
        connection_endpoint(connection, CHANNEL_IOPUB, endpoint, sizeof endpoint);
        return strncmp(endpoint, ipc, sizeof ipc - 1) == 0 &&
               strcmp(endpoint + sizeof ipc - 1, address->un.sun_path) == 0;
    default:
        return false;
    }
}

/* A connection of a client to the iopub socket, and no listening socket. */
static bool is_subscriber(int fd, const struct connection *connection)
{
    union address own, peer;
    socklen_t own_size = sizeof own, peer_size = sizeof peer;

    memset(&own, 0, sizeof own);
    return getsockname(fd, &own.any, &own_size) == 0 && is_iopub(&own, connection) &&
           getpeername(fd, &peer.any, &peer_size) == 0;
}

/*
 * Changes when the peer takes something. For tcp that is counted. For ipc nobody counts,
 * and a queue that ZeroMQ fills up at once looks the same whenever one looks; then a
 * message that everybody has taken is a sign. (A very slow client on ipc beside one that
 * stands still is taken for another such.)
 */
static uint64_t progress_of(int fd, uint64_t queued, uint64_t taken)
{
    struct tcp_info info;
    socklen_t size = sizeof info;

    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        return info.tcpi_bytes_acked;
    }
    return queued + taken;
}

static struct stall_connection *find(struct stall_watch *self, ino_t socket)
{
    struct stall_connection *unused = NULL;

    for (size_t i = 0; i < STALL_CONNECTIONS; i++) {
        if (self->connection[i].socket == socket) {
            return &self->connection[i];
        }
        if (!unused && self->connection[i].socket == 0) {
            unused = &self->connection[i];
        }
    }
    if (unused) {
        *unused = (struct stall_connection){.socket = socket};
    }
    return unused;
}

/* -> true: it was closed. */
static bool look_at(struct stall_watch *self, int fd, uint64_t taken, int64_t now_ms,
                    int64_t timeout_ms)
{
    struct stall_connection *seen;
    struct stat status;
    uint64_t progress;
    int queued = 0;

    if (fstat(fd, &status) < 0 || ioctl(fd, SIOCOUTQ, &queued) < 0 || queued == 0) {
        return false;
    }
    seen = find(self, status.st_ino);
    if (!seen) {
        return false;
    }
    progress = progress_of(fd, (uint64_t)queued, taken);
    if (seen->since_ms == 0 || seen->progress != progress) {
        seen->progress = progress;
        seen->since_ms = now_ms;
    }
    seen->seen = true;
    if (now_ms - seen->since_ms < timeout_ms) {
        return false;
    }
    log_warning("a client has taken no output for %.1f s: it is disconnected, and loses messages",
                (double)(now_ms - seen->since_ms) / 1000);
    (void)shutdown(fd, SHUT_RDWR);
    seen->seen = false;
    return true;
}

size_t stall_watch_look(struct stall_watch *self, const struct connection *connection,
                        uint64_t taken, int64_t now_ms, int64_t timeout_ms)
{
    DIR *fds = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t closed = 0;

    while (fds && (entry = readdir(fds))) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);
        int fd = *end || end == entry->d_name ? -1 : fcntl((int)number, F_DUPFD_CLOEXEC, 0);

        if (fd >= 0) {
            closed += is_subscriber(fd, connection) && look_at(self, fd, taken, now_ms, timeout_ms);
            (void)close(fd);
        }
    }
    if (fds) {
        (void)closedir(fds);
    }
    for (size_t i = 0; i < STALL_CONNECTIONS; i++) {
        if (!self->connection[i].seen) {
            self->connection[i].socket = 0;
        }
        self->connection[i].seen = false;
    }
    return closed;
}

static int on_timer(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    kernel->stall_timer = -1;
    (void)stall_watch_look(&kernel->stall_watch, &kernel->connection, iopub_taken(&kernel->iopub),
                           kernel_now_ms(), kernel->options->stall_timeout_ms);
    stall_watch_start(kernel);
    return 0;
}

/* Nothing waits any more. The allocator keeps what a backlog took, unless it is told not to. */
static void forget(struct stall_watch *self)
{
    if (self->most > KEPT) {
        (void)malloc_trim(0);
    }
    memset(self, 0, sizeof *self);
}

void stall_watch_start(struct kernel *kernel)
{
    struct stall_watch *self = &kernel->stall_watch;
    int64_t interval_ms = kernel->options->stall_timeout_ms / LOOKS;
    size_t unsent = iopub_unsent(&kernel->iopub);

    if (kernel->options->stall_timeout_ms == 0) {
        return;
    }
    self->most = unsent > self->most ? unsent : self->most;
    if (kernel->stall_timer != -1) {
        return;
    }
    if (unsent == 0) {
        forget(self);
        return;
    }
    if (interval_ms < INTERVAL_MIN_MS) {
        interval_ms = INTERVAL_MIN_MS;
    } else if (interval_ms > INTERVAL_MAX_MS) {
        interval_ms = INTERVAL_MAX_MS;
    }
    kernel->stall_timer = zloop_timer(kernel->loop, (size_t)interval_ms, 1, on_timer, kernel);
}
