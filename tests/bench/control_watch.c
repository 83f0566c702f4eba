/*
 * A stopwatch inside a kernel, whatever kernel it is: from the bytes of a
 * request on the control channel, as libzmq reads them from the connection, to
 * the bytes of the answer, as it writes them. The client and the network are
 * not in it.
 *
 * Loaded by LD_PRELOAD, it stands in front of recv() and send(), which libzmq
 * calls. BENCH_WATCH is "PORT PATH": the control port, and a file that gets a
 * line of each answer with both times, in nanoseconds of CLOCK_MONOTONIC.
 * Processes that the kernel starts are left alone. Part of tests/bench, never
 * installed.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#pragma GCC visibility push(default)
ssize_t recv(int fd, void *bytes, size_t n, int flags);
ssize_t send(int fd, const void *bytes, size_t n, int flags);
#pragma GCC visibility pop

static ssize_t (*real_recv)(int, void *, size_t, int);
static ssize_t (*real_send)(int, const void *, size_t, int);
static int port = -1, file = -1;
static _Atomic long long since; /* when the unanswered request came; 0: there is none */

static long long now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t n = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &n) != 0) {
        return 0;
    }
    switch (address.ss_family) {
    case AF_INET:
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    case AF_INET6:
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    default:
        return 0;
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *what = getenv("BENCH_WATCH");
    int path = 0;

    *(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
    *(void **)&real_send = dlsym(RTLD_NEXT, "send");
    if (what && sscanf(what, "%d %n", &port, &path) == 1) {
        file = open(what + path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    (void)unsetenv("BENCH_WATCH");
    (void)unsetenv("LD_PRELOAD");
}

ssize_t recv(int fd, void *bytes, size_t n, int flags)
{
    ssize_t got = real_recv(fd, bytes, n, flags);

    if (got > 0 && port_of(fd) == port && atomic_load(&since) == 0) {
        atomic_store(&since, now_ns());
    }
    return got;
}

ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
    ssize_t put = real_send(fd, bytes, n, flags);

    if (put > 0 && port_of(fd) == port) {
        long long begin = atomic_exchange(&since, 0);

        if (begin != 0) {
            (void)dprintf(file, "%lld %lld\n", begin, now_ns());
        }
    }
    return put;
}
