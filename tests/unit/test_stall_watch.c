/*
 * Tests of kernel/stall_watch.c: whom it disconnects and when. Real connections;
 * the time is what the test says it is.
 */

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "kernel/stall_watch.h"
#include "kernel_fixture.h"

enum { TIMEOUT_MS = 30000 };

static void read_all(int fd, void *bytes, size_t n)
{
    cr_assert_eq(recv(fd, bytes, n, MSG_WAITALL), (ssize_t)n);
}

/* As much of ZMTP 3.0 as a subscriber needs; it reads nothing from then on. */
static void subscribe(int fd)
{
    static const char greeting[64] = "\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL";
    static const char ready[] = "\4\x19\5READY\x0bSocket-Type\0\0\0\3SUB";
    char answer[64], size[2];
    struct timeval patience = {STAGE_DEADLINE_MS / 1000, 0};

    cr_assert(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    cr_assert_eq(send(fd, greeting, sizeof greeting, 0), (ssize_t)sizeof greeting);
    read_all(fd, answer, sizeof answer);
    cr_assert_eq(send(fd, ready, sizeof ready - 1, 0), (ssize_t)sizeof ready - 1);
    read_all(fd, size, sizeof size);
    read_all(fd, answer, (size_t)size[1]);
    cr_assert_eq(send(fd, "\0\1\1", 3, 0), 3);
}

static int connect_subscriber(struct stage *stage)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = 256 << 10;

    cr_assert(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
    address.sin_port = htons((uint16_t)stage->kernel->connection.port[CHANNEL_IOPUB]);
    cr_assert(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    subscribe(fd);
    stage_expect(stage, CHANNEL_IOPUB, "iopub_welcome", "", "\"subscription\":\"\"");
    return fd;
}

/* Publishes more than the system holds for a connection that is not read; the client reads all. */
static void flood(struct stage *stage)
{
    size_t size = (size_t)1 << 20;
    char *content = malloc(size + 1);
    struct told told;

    memset(content, 'x', size);
    memcpy(content, "{\"a\":\"", 6);
    memcpy(content + size - 2, "\"}", 3);
    for (int i = 0; i < 20; i++) {
        iopub_publish(&stage->kernel->iopub, "t", NULL, slice_of("{}"), slice_of(content));
    }
    for (int i = 0; i < 20; i++) {
        stage_receive(stage, CHANNEL_IOPUB, &told);
        told_release(&told);
    }
    free(content);
}

static size_t look(struct stage *stage, struct stall_watch *watch, int64_t now_ms)
{
    return stall_watch_look(watch, &stage->kernel->connection, iopub_taken(&stage->kernel->iopub),
                            now_ms, TIMEOUT_MS);
}

/* Waits until ZeroMQ's threads are done with what they can do: the count is as wanted. */
static void expect_unsent(struct stage *stage, bool some)
{
    while ((iopub_unsent(&stage->kernel->iopub) > 0) != some) {
        stage_turn(stage);
    }
}

/* Reads what is there. ZeroMQ may still count a message whose last byte was read. -> some was */
static bool read_some(int fd)
{
    static char bytes[1 << 20];
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    if (poll(&readable, 1, 10) != 1) {
        return false;
    }
    cr_assert_gt(recv(fd, bytes, sizeof bytes, 0), 0);
    return true;
}

/* Bytes that the iopub socket has sent to its clients, ours too, and that are not acknowledged. */
static int unacknowledged(const struct stage *stage)
{
    uint16_t port = htons((uint16_t)stage->kernel->connection.port[CHANNEL_IOPUB]);
    int sum = 0;

    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in own = {0}, peer;
        socklen_t own_size = sizeof own, peer_size = sizeof peer;
        int queued = 0;

        if (getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own.sin_port == port &&
            getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
            ioctl(fd, SIOCOUTQ, &queued) == 0) {
            sum += queued;
        }
    }
    return sum;
}

/* Since when the connection that is watched has taken nothing. */
static int64_t stands_since(const struct stall_watch *watch)
{
    int64_t since_ms = INT64_MAX;

    for (size_t i = 0; i < STALL_CONNECTIONS; i++) {
        const struct stall_connection *each = &watch->connection[i];

        since_ms = each->socket != 0 && each->since_ms < since_ms ? each->since_ms : since_ms;
    }
    return since_ms;
}

Test(stall_watch, who_takes_nothing_is_disconnected_when_its_time_is_over)
{
    static struct stall_watch watch;
    struct stage stage;
    int64_t now_ms = 1000;
    size_t closed = 0;
    char byte;
    int fd;

    stage_init(&stage);
    fd = connect_subscriber(&stage);
    flood(&stage);
    expect_unsent(&stage, true);
    cr_assert_eq(look(&stage, &watch, now_ms), 0);
    while (closed == 0) { /* it takes on as long as the system has room for it */
        now_ms = stands_since(&watch);
        cr_assert_eq(look(&stage, &watch, now_ms + TIMEOUT_MS - 1), 0);
        closed = look(&stage, &watch, now_ms + TIMEOUT_MS);
    }
    cr_assert_eq(closed, 1, "that one, and not the one that reads");
    expect_unsent(&stage, false);
    cr_assert_eq(look(&stage, &watch, now_ms + 2 * (int64_t)TIMEOUT_MS), 0, "once");
    cr_assert(recv(fd, &byte, 1, 0) == 1, "what it had got is still there");
    (void)close(fd);
    iopub_publish(&stage.kernel->iopub, "after", NULL, slice_of("{}"), slice_of("{}"));
    for (bool after = false; !after;) { /* behind the statuses of the turns */
        struct told told;

        stage_receive(&stage, CHANNEL_IOPUB, &told);
        after = strcmp(told.type, "after") == 0;
        told_release(&told);
    }
    stage_release(&stage);
}

Test(stall_watch, who_takes_something_now_and_then_stays)
{
    static struct stall_watch watch;
    struct stage stage;
    int64_t now_ms = 1000;
    int fd;

    stage_init(&stage);
    fd = connect_subscriber(&stage);
    flood(&stage);
    while (iopub_unsent(&stage.kernel->iopub) > 0) {
        cr_assert_eq(look(&stage, &watch, now_ms), 0, "at %lld", (long long)now_ms);
        /* Its taking is seen when it is acknowledged: with one of the next reads. */
        now_ms += read_some(fd) ? TIMEOUT_MS / 4 : 0;
    }
    cr_assert_geq(now_ms, 2 * (int64_t)TIMEOUT_MS, "it was slow enough");
    (void)close(fd);
    stage_release(&stage);
}

Test(stall_watch, who_has_all_stays_for_ever)
{
    static struct stall_watch watch;
    struct stage stage;
    int fd;

    stage_init(&stage);
    fd = connect_subscriber(&stage);
    flood(&stage);
    while (iopub_unsent(&stage.kernel->iopub) > 0 || unacknowledged(&stage) > 0) {
        (void)read_some(fd);
    }
    for (int64_t now_ms = 1000; now_ms < 10 * (int64_t)TIMEOUT_MS; now_ms += TIMEOUT_MS / 2) {
        cr_assert_eq(look(&stage, &watch, now_ms), 0);
    }
    (void)close(fd);
    stage_release(&stage);
}

Test(stall_watch, the_loop_looks_while_something_waits_and_not_longer)
{
    struct stage stage;
    int fd;

    stage_init(&stage);
    stage.options.stall_timeout_ms = 200;
    fd = connect_subscriber(&stage);
    stall_watch_start(stage.kernel);
    flood(&stage);
    stall_watch_start(stage.kernel);
    cr_assert_neq(stage.kernel->stall_timer, -1);
    while (stage.kernel->stall_timer != -1) {
        stage_turn(&stage);
    }
    expect_unsent(&stage, false); /* but for the statuses of the last turn, which leave at once */
    (void)close(fd);
    stage_release(&stage);
}

Test(stall_watch, without_a_timeout_nobody_is_looked_for)
{
    struct stage stage;
    int fd;

    stage_init(&stage);
    fd = connect_subscriber(&stage);
    flood(&stage);
    expect_unsent(&stage, true);
    stall_watch_start(stage.kernel);
    cr_assert_eq(stage.kernel->stall_timer, -1);
    (void)close(fd);
    stage_release(&stage);
}
