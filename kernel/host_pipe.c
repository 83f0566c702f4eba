/*
 * The transport of a worker that is ours: pipes on its fds 0, 1 and 2.
 *
 * Its end is seen by pidfd, not by the end of a pipe: a child that was forked in
 * a cell holds the pipes after it. It is not reaped before close, so that its
 * number stays its own and a signal to the group can hit nobody else.
 *
 * Writing never waits for the worker alone: a worker whose cell prints while an
 * answer is on its way to it waits for us to read, so what it says meanwhile is
 * taken into the reader.
 *
 * Part of libeinkorn-host. read_line, write_line and close belong to one thread
 * at a time (struct host sees to it); the others come from any. Owns the process,
 * the fds, and the thread that reads stderr.
 */

#include "kernel/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/xalloc.h"
#include "kernel/host_lines.h"
#include "kernel/host_stderr.h"
#include "kernel/spawn.h"

enum {
    READ_SIZE = 64 * 1024,
    ENDING_MS = 1000, /* a process's pipes close a moment before it has ended */
};

struct pipe_worker {
    pid_t pid;
    int pidfd;
    int in, out; /* our ends of its fds 0 and 1 */
    unsigned shutdown_ms;
    struct host_lines lines;
    struct host_stderr stderr_tail;
};

bool host_signal_main_thread(pid_t pid, int signal)
{
    return syscall(SYS_tgkill, pid, pid, signal) == 0;
}

static bool has_ended(const struct pipe_worker *self, int wait_ms)
{
    struct pollfd fd = {.fd = self->pidfd, .events = POLLIN};
    int r;

    do {
        r = poll(&fd, 1, wait_ms);
    } while (r == -1 && errno == EINTR && wait_ms == 0);
    return r == 1;
}

/* -> 1: bytes came; 0: none are there now; -EPIPE: the pipe is at its end. */
static int fill(struct pipe_worker *self)
{
    ssize_t n;

    do {
        n = read(self->out, host_lines_room(&self->lines, READ_SIZE), READ_SIZE);
    } while (n == -1 && errno == EINTR);
    if (n > 0) {
        host_lines_added(&self->lines, (size_t)n);
        return 1;
    }
    return n == -1 && errno == EAGAIN ? 0 : -EPIPE;
}

static int read_line(void *arg, const char **ret_line, size_t *ret_n)
{
    struct pipe_worker *self = arg;
    struct pollfd fds[2] = {{.fd = self->out, .events = POLLIN},
                            {.fd = self->pidfd, .events = POLLIN}};
    struct slice line;

    for (;;) {
        int r = host_lines_next(&self->lines, &line);

        if (r == 1) {
            *ret_line = (const char *)line.p;
            *ret_n = line.n;
        }
        if (r != 0) {
            return r;
        }
        r = fill(self);
        if (r == -EPIPE) {
            (void)has_ended(self, ENDING_MS);
            return 0;
        }
        if (r == 0) {
            if (poll(fds, 2, -1) > 0 && fds[0].revents == 0 && fill(self) <= 0) {
                return 0;
            }
        }
    }
}

/*
 * write, where a worker that is gone is an error and not a SIGPIPE, which would
 * end a host that has not thought of it. One that was pending before stays.
 */
static ssize_t write_quietly(int fd, const void *bytes, size_t n)
{
    static const struct timespec at_once = {0, 0};
    sigset_t sigpipe, pending, before;
    ssize_t written;
    int error;

    (void)sigemptyset(&sigpipe);
    (void)sigaddset(&sigpipe, SIGPIPE);
    CHECK(pthread_sigmask(SIG_BLOCK, &sigpipe, &before) == 0);
    (void)sigpending(&pending);
    written = write(fd, bytes, n);
    error = errno;
    if (written == -1 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        while (sigtimedwait(&sigpipe, NULL, &at_once) == -1 && errno == EINTR) {
        }
    }
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    errno = error;
    return written;
}

/* The pipe is full: waits until it is not, and takes what the worker says meanwhile. */
static int wait_for_room(struct pipe_worker *self)
{
    struct pollfd fds[3] = {{.fd = self->in, .events = POLLOUT},
                            {.fd = self->pidfd, .events = POLLIN},
                            {.fd = self->out, .events = POLLIN}};

    if (poll(fds, 3, -1) <= 0 || fds[0].revents != 0) {
        return 0;
    }
    if (fds[1].revents != 0) {
        return -EPIPE;
    }
    if (host_lines_waiting(&self->lines) > 2 * self->lines.limit) {
        return -ENOBUFS;
    }
    return fill(self) == -EPIPE ? -EPIPE : 0;
}

static int write_line(void *arg, const char *line, size_t n)
{
    struct pipe_worker *self = arg;
    int r = 0;

    while (n > 0 && r == 0) {
        ssize_t written = write_quietly(self->in, line, n);

        if (written >= 0) {
            line += written;
            n -= (size_t)written;
        } else if (errno == EAGAIN) {
            r = wait_for_room(self);
        } else if (errno != EINTR) {
            r = -errno;
        }
    }
    if (r == -EPIPE) {
        (void)has_ended(self, ENDING_MS);
    }
    return r;
}

static bool alive(void *arg)
{
    return !has_ended(arg, 0);
}

/* Python runs its handler on the main thread only; a signal for the process may go to another. */
static bool interrupt(void *arg)
{
    struct pipe_worker *self = arg;

    return host_signal_main_thread(self->pid, SIGINT) || kill(self->pid, SIGINT) == 0;
}

static void kill_group(void *arg)
{
    struct pipe_worker *self = arg;

    (void)kill(-self->pid, SIGKILL);
}

static pid_t worker_pid(void *arg)
{
    return ((struct pipe_worker *)arg)->pid;
}

static size_t stderr_tail(void *arg, char *text, size_t size)
{
    struct pipe_worker *self = arg;

    if (has_ended(self, 0)) {
        host_stderr_settle(&self->stderr_tail); /* its last words are in the pipe by now */
    }
    return host_stderr_tail(&self->stderr_tail, text, size);
}

static bool ended(void *arg, int *ret_status)
{
    struct pipe_worker *self = arg;
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOWAIT | WNOHANG) == -1 ||
        info.si_pid == 0) {
        return false;
    }
    *ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    return true;
}

static int64_t now_ms(void)
{
    struct timespec at;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* The end of its input ends it too; what it still says is read and dropped, or it could not end. */
static void wait_for_end(struct pipe_worker *self)
{
    struct pollfd fds[2] = {{.fd = self->pidfd, .events = POLLIN},
                            {.fd = self->out, .events = POLLIN}};
    int64_t until = now_ms() + self->shutdown_ms, left = self->shutdown_ms;

    while (left > 0 && fds[0].revents == 0) {
        if (poll(fds, 2, (int)left) > 0 && fds[1].revents != 0) {
            host_lines_release(&self->lines);
            fds[1].fd = fill(self) == -EPIPE ? -1 : self->out;
        }
        left = until - now_ms();
    }
}

static void close_worker(void *arg, bool graceful)
{
    struct pipe_worker *self = arg;

    (void)close(self->in);
    if (graceful) {
        wait_for_end(self);
    }
    kill_group(self);
    (void)has_ended(self, -1);
    while (waitpid(self->pid, NULL, 0) == -1 && errno == EINTR) {
    }
    (void)close(self->pidfd);
    (void)close(self->out);
    host_stderr_release(&self->stderr_tail);
    host_lines_release(&self->lines);
    free(self);
}

/* Both ends above 2, so that no one of them is overwritten while the child's 0, 1, 2 are made. */
static int open_pipe(int ret_ends[2])
{
    int ends[2] = {-1, -1}, r = 0;

    if (pipe2(ends, O_CLOEXEC) == -1) {
        return -errno;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] <= STDERR_FILENO) {
            int above = fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

            r = above < 0 ? -errno : r;
            (void)close(ends[i]);
            ends[i] = above;
        }
    }
    if (r < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return r;
    }
    memcpy(ret_ends, ends, sizeof ends);
    return 0;
}

/* Two fds of each pipe: [0] reads, [1] writes. */
static int open_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++) {
        int r = open_pipe(pipes[i]);

        if (r < 0) {
            while (i-- > 0) {
                (void)close(pipes[i][0]);
                (void)close(pipes[i][1]);
            }
            return r;
        }
    }
    return 0;
}

static int start(struct pipe_worker *self, const struct host_pipe_options *options, int pipes[3][2])
{
    struct spawn how = {.path = options->argv[0],
                        .argv = (char *const *)(uintptr_t)options->argv,
                        .environment = options->environment,
                        .directory = options->cwd,
                        .stdio = {pipes[0][0], pipes[1][1], pipes[2][1]},
                        .close_others = true};
    int r = spawn_process(&how, &self->pid, &self->pidfd);

    (void)close(pipes[0][0]);
    (void)close(pipes[1][1]);
    (void)close(pipes[2][1]);
    self->in = pipes[0][1];
    self->out = pipes[1][0];
    if (r < 0) {
        (void)close(pipes[2][0]);
        return r;
    }
    (void)fcntl(self->in, F_SETFL, O_NONBLOCK);
    (void)fcntl(self->out, F_SETFL, O_NONBLOCK);
    r = host_stderr_init(&self->stderr_tail, pipes[2][0]);
    if (r < 0) {
        kill_group(self);
        (void)waitpid(self->pid, NULL, 0);
        (void)close(self->pidfd);
    }
    return r;
}

int host_pipe_transport(const struct host_pipe_options *options,
                        struct host_transport *ret_transport)
{
    struct pipe_worker *self;
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int r = open_pipes(pipes);

    if (r < 0) {
        return r;
    }
    self = xcalloc(1, sizeof *self);
    self->shutdown_ms = options->shutdown_ms > 0 ? options->shutdown_ms : 5000;
    r = start(self, options, pipes);
    if (r < 0) {
        (void)close(self->in);
        (void)close(self->out);
        free(self);
        return r;
    }
    host_lines_init(&self->lines, options->line_limit > 0 ? options->line_limit : 26000000);
    *ret_transport = (struct host_transport){
        .arg = self,
        .write_line = write_line,
        .read_line = read_line,
        .alive = alive,
        .interrupt = interrupt,
        .kill = kill_group,
        .close = close_worker,
        .pid = worker_pid,
        .stderr_tail = stderr_tail,
        .ended = ended,
    };
    return 0;
}
