/*
 * Puts a kernel together, runs its loop, takes it apart. Runs in the kernel
 * process.
 *
 * The worker is there already (start.c) and boots while the sockets are bound;
 * what no client waits for is done after that.
 */

#include "kernel/kernel.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "bridge/clock.h"
#include "bridge/xalloc.h"
#include "kernel/control.h"
#include "kernel/door.h"
#include "kernel/log.h"
#include "kernel/remember.h"
#include "kernel/restart.h"
#include "kernel/router.h"
#include "kernel/runtime_directory.h"
#include "kernel/signals.h"
#include "kernel/start.h"
#include "kernel/stop.h"

long long kernel_now_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

static int on_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)item;
    signals_take(kernel);
    return kernel->finished ? -1 : 0;
}

static int on_worker_end(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;

    zloop_poller_end(loop, item);
    stop_worker_gone(kernel);
    return kernel->finished ? -1 : 0;
}

static int on_parent_end(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct kernel *kernel = arg;

    zloop_poller_end(loop, item);
    log_info("a parent process is gone, ending");
    stop_announce(kernel);
    return kernel->finished ? -1 : 0;
}

/* Nobody may know of this kernel: parent_watch.h. */
static int on_doubt_over(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    if (!kernel->spoken_to) {
        log_info("JPY_PARENT_PID names no process, and nobody has asked for anything: ending");
        stop_announce(kernel);
    }
    return 0;
}

static void on_iopub_busy(void *arg)
{
    door_continue(arg);
}

static void watch_fd(struct kernel *kernel, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};

    if (fd >= 0) {
        (void)zloop_poller(kernel->loop, &item, handler, kernel);
        zloop_poller_set_tolerant(kernel->loop, &item);
    }
}

/* `r`: what start_worker gave. */
static void take_worker(struct kernel *kernel, int r)
{
    if (r < 0) {
        char text[512];

        (void)snprintf(text, sizeof text, "cannot start the Python process (%s): %s",
                       kernel->paths.launcher, strerror(-r));
        log_error("%s", text);
        kernel->start_error = xstrdup(text);
        kernel->worker = WORKER_BROKEN;
    }
    link_sender_init(&kernel->sender, &kernel->door);
    kernel->worker_started_ms = kernel_now_ms();
}

void kernel_start_worker(struct kernel *kernel)
{
    take_worker(kernel, start_worker(kernel->options, &kernel->paths, kernel->python, &kernel->door,
                                     &kernel->supervisor));
    memory_group_read("", &kernel->memory);
}

void kernel_watch_worker(struct kernel *kernel)
{
    watch_fd(kernel, kernel->supervisor.pidfd, on_worker_end);
    if (kernel->worker != WORKER_BROKEN) {
        door_start(kernel);
    }
}

/* From now on the next kernel can tell which cell this one ran; what did the one before run? */
static void open_marker(struct kernel *kernel)
{
    struct buffer notice = BUFFER_INIT;
    char directory[PATH_MAX];
    size_t n;

    if (runtime_directory_own(directory, sizeof directory) == 0) {
        cell_marker_open(&kernel->marker, directory, kernel->connection.path, &kernel->memory,
                         &notice);
    }
    if (notice.n > 0) {
        log_warning("%s", (const char *)notice.p);
        kernel->notice = (char *)buffer_detach(&notice, &n);
    }
}

/* The version as pinned, or what the library's name tells, until Python says it. */
static void guess_version(struct kernel *kernel)
{
    static const char prefix[] = "libpython";
    const char *version = kernel->options->python_version;
    const char *library = kernel->options->libpython;
    size_t n;

    if (!version) {
        const char *name = library ? strstr(library, prefix) : NULL;

        version = name ? name + sizeof prefix - 1 : "3";
    }
    n = strspn(version, "0123456789.");
    while (n > 0 && version[n - 1] == '.') {
        n--;
    }
    (void)snprintf(kernel->python_version, sizeof kernel->python_version, "%.*s", (int)n, version);
}

/* Keys and the rest of what messages need. -> 0 or negative, and a line. */
static int open_channels(struct kernel *kernel, char error[CONNECTION_ERROR_MAX])
{
    struct connection *connection = &kernel->connection;
    struct slice key = slice_of(connection->key);
    struct signer *iopub_signer;

    if (signer_new(connection->scheme, key, &kernel->signer) < 0 ||
        signer_new(connection->scheme, key, &iopub_signer) < 0) {
        (void)snprintf(error, CONNECTION_ERROR_MAX, "%s: unknown signature_scheme '%s'",
                       connection->path, connection->scheme);
        return -EINVAL;
    }
    kernel->replay = replay_new(REPLAY_WINDOW);
    iopub_init(&kernel->iopub, NULL, &kernel->session, iopub_signer);
    kernel->iopub.on_busy = on_iopub_busy;
    kernel->iopub.on_busy_arg = kernel;
    output_init(&kernel->output, &kernel->iopub, kernel->options->max_output);
    return 0;
}

static int bind_channels(struct kernel *kernel, char error[CONNECTION_ERROR_MAX])
{
    int r = sockets_open(&kernel->sockets, &kernel->connection, kernel->signal_fd, error);

    if (r == 0) {
        r = control_new(&kernel->sockets, &kernel->connection, &kernel->session,
                        kernel->python_version, &kernel->control);
        if (r < 0) {
            (void)snprintf(error, CONNECTION_ERROR_MAX, "cannot start a thread: %s", strerror(-r));
        }
    }
    if (r == 0) {
        /* At once: who has subscribed by then gets this before the welcome. */
        kernel->iopub.socket = sockets_handle(&kernel->sockets, CHANNEL_IOPUB);
        iopub_status(&kernel->iopub, NULL, "starting");
    }
    if (r == 0 && kernel->connection.changed) {
        r = connection_write(&kernel->connection, error);
        if (r < 0 && kernel->connection.registration_port != 0) {
            log_warning("%s; only the launcher can find this kernel", error);
            r = 0;
        }
    }
    return r;
}

static void run_loop(struct kernel *kernel)
{
    kernel->loop = zloop_new();
    zloop_set_nonstop(kernel->loop, true);
    watch_fd(kernel, kernel->signal_fd, on_signal);
    for (size_t i = 0; i < kernel->parents.count; i++) {
        watch_fd(kernel, kernel->parents.fd[i], on_parent_end);
    }
    if (kernel->parents.in_doubt) {
        (void)zloop_timer(kernel->loop, PARENT_WATCH_DOUBT_MS, 1, on_doubt_over, kernel);
    }
    router_start(kernel);
    kernel_watch_worker(kernel);
    registration_start(kernel);
    (void)zloop_start(kernel->loop);
    registration_release(kernel);
    zloop_destroy(&kernel->loop);
}

static void init(struct kernel *kernel, const struct options *options, struct start *start)
{
    kernel->options = options;
    kernel->python = start->python;
    kernel->paths = start->paths;
    kernel->signal_fd = start->signal_fd;
    kernel->parents = start->parents;
    kernel->door = start->door;
    kernel->supervisor = start->supervisor;
    kernel->door_timer = kernel->output_timer = kernel->interrupt_timer = -1;
    kernel->stall_timer = -1;
    kernel->watched[0] = kernel->watched[1] = kernel->watched[2] = -1;
    cell_marker_init(&kernel->marker);
    lane_init(&kernel->lane);
    input_init(&kernel->input);
    guess_version(kernel);
    take_worker(kernel, start->worker);
    memset(start, 0, sizeof *start);
}

static void release(struct kernel *kernel)
{
    refusals_tell_rest(&kernel->refusals);
    if (kernel->supervisor.pid > 0) {
        supervisor_signal_group(&kernel->supervisor, SIGKILL);
        supervisor_reap(&kernel->supervisor);
    }
    restart_release(kernel);
    cell_marker_release(&kernel->marker);
    buffer_release(&kernel->fd2);
    buffer_release(&kernel->death_report);
    free(kernel->notice);
    lane_release(&kernel->lane);
    remember_release(kernel);
    comms_release(&kernel->comms);
    input_release(&kernel->input);
    output_release(&kernel->output);
    stuck_release(&kernel->stuck);
    control_destroy(&kernel->control);
    sockets_close(&kernel->sockets);
    zsys_shutdown(); /* waits for what lingers; after it ZeroMQ holds no memory of ours */
    iopub_release(&kernel->iopub);
    origins_release(&kernel->origins);
    signer_destroy(&kernel->signer);
    replay_destroy(&kernel->replay);
    link_sender_release(&kernel->sender);
    link_consumer_release(&kernel->door);
    connection_release(&kernel->connection);
    paths_release(&kernel->paths);
    buffer_release(&kernel->start_text);
    free(kernel->start_error);
    free(kernel->python);
    if (kernel->signal_fd >= 0) {
        (void)close(kernel->signal_fd);
    }
    parent_watch_release(&kernel->parents);
}

int kernel_run(const struct options *options, struct start *start)
{
    struct kernel *kernel = xcalloc(1, sizeof *kernel);
    char error[CONNECTION_ERROR_MAX] = "";
    int status = EXIT_USAGE;

    init(kernel, options, start);
    sockets_prepare();
    session_init(&kernel->session, getenv("USER"));
    if (connection_read(options->connection_file, &kernel->connection, error) < 0 ||
        open_channels(kernel, error) < 0) {
        log_error("%s", error);
    } else if (bind_channels(kernel, error) < 0) {
        log_error("%s", error);
        status = EXIT_FAILURE;
    } else if (parent_watch_open(&kernel->parents, getenv("JPY_PARENT_PID")) < 0) {
        log_info("the parent process is gone, ending");
        status = EXIT_SUCCESS;
    } else {
        memory_group_read("", &kernel->memory);
        open_marker(kernel);
        run_loop(kernel);
        status = kernel->exit_status;
    }
    release(kernel);
    free(kernel);
    return status;
}
