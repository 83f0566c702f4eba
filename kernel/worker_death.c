/*
 * Acts upon the death of the worker. Runs in the kernel process, on the thread
 * of the zloop.
 *
 * Clients are told at once, the log and the file a second later: some clients
 * end a kernel by ending its children first, and that is no death to report.
 */

#include "kernel/worker_death.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "kernel/death_file.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/restart.h"
#include "kernel/runtime_directory.h"
#include "kernel/stop.h"

static const char ename[] = "KernelDied";

static void say_on_stderr(struct kernel *kernel, struct origin *origin, const char *text)
{
    output_flush(&kernel->output);
    iopub_stream(&kernel->iopub, origin, 1, slice_of(text));
}

void worker_death_tell_notice(struct kernel *kernel, struct origin *cell)
{
    if (kernel->notice) {
        say_on_stderr(kernel, cell, kernel->notice);
        free(kernel->notice);
        kernel->notice = NULL;
    }
}

void worker_death_note_fd2(struct kernel *kernel, struct slice bytes)
{
    struct buffer *kept = &kernel->fd2;

    if (bytes.n > DEATH_FD2_MAX) {
        bytes.p += bytes.n - DEATH_FD2_MAX;
        bytes.n = DEATH_FD2_MAX;
    }
    if (kept->n + bytes.n > DEATH_FD2_MAX) {
        buffer_drop_front(kept, kept->n + bytes.n - DEATH_FD2_MAX);
    }
    buffer_put_slice(kept, bytes);
}

/* ---- the report --------------------------------------------------------------------- */

static void keep_report(struct kernel *kernel, struct slice text)
{
    const uint8_t *end = memchr(text.p, '\n', text.n);
    const char *cause = (const char *)text.p; /* its first line */
    int n = (int)(end - text.p);
    char directory[PATH_MAX], path[PATH_MAX] = "";
    int r = runtime_directory_own(directory, sizeof directory);

    if (r == 0) {
        r = death_file_write(directory, kernel->dead_pid, text, path, sizeof path);
    }
    if (r == 0) {
        log_error("%.*s; the report is %s", n, cause, path);
    } else {
        log_error("%.*s; the report is not kept: %s", n, cause, strerror(-r));
    }
}

void worker_death_settle(struct kernel *kernel)
{
    if (kernel->death_report.n > 0) {
        keep_report(kernel, buffer_slice(&kernel->death_report));
        buffer_release(&kernel->death_report);
    }
}

void worker_death_was_shutdown(struct kernel *kernel)
{
    if (kernel->death_report.n > 0) {
        log_info("Python had ended before the kernel was told to: a shutdown");
        buffer_release(&kernel->death_report);
        kernel->exit_status = 0;
    }
}

static int on_settled(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;

    (void)loop;
    (void)timer;
    worker_death_settle(kernel);
    return 0;
}

static void put_report(struct kernel *kernel, const struct death *death, const char *cause,
                       const char *details)
{
    struct buffer *report = &kernel->death_report;

    worker_death_settle(kernel); /* one that has died within the second before */
    kernel->dead_pid = death->pid;
    buffer_printf(report, "%s\n\n", cause);
    session_put_date(report);
    buffer_printf(report,
                  ", Einkorn " EINKORN_VERSION ", %s, Python %s, process %d, connection %s\n",
                  kernel->python, kernel->python_version, (int)death->pid, kernel->connection.path);
    if (death->in_cell) {
        buffer_printf(report, "In cell [%u].\n", (unsigned)kernel->lane.next_count);
    }
    buffer_printf(report, "\n%s\n", details);
    (void)zloop_timer(kernel->loop, DEATH_SETTLE_MS, 1, on_settled, kernel);
}

/* ---- who is told ---------------------------------------------------------------------- */

static void close_comms(struct kernel *kernel, struct origin *origin)
{
    struct buffer content = BUFFER_INIT;

    output_flush(&kernel->output);
    while (comms_close_next(&kernel->comms, &content)) {
        iopub_publish(&kernel->iopub, "comm_close", origin, slice_of("{}"), buffer_slice(&content));
        buffer_clear(&content);
    }
    buffer_release(&content);
}

static void tell_clients(struct kernel *kernel, const struct death *death, const char *cause,
                         const char *details)
{
    close_comms(kernel, kernel->lane.last_cell);
    if (!death->in_cell) {
        struct buffer text = BUFFER_INIT;

        buffer_printf(&text, "%s: %s\n\n%s\n", ename, cause, details);
        buffer_put_char(&text, '\0');
        say_on_stderr(kernel, kernel->lane.last_cell, (const char *)text.p);
        buffer_release(&text);
    }
    lane_die(kernel, ename, cause, details);
}

/* ---- what becomes of the kernel --------------------------------------------------------- */

/* Counts the deaths that came soon after a start. -> whether another start may help. */
static bool may_restart(struct kernel *kernel)
{
    bool soon = kernel_now_ms() - kernel->worker_started_ms < DEATH_SOON_MS;

    kernel->soon_deaths = soon ? kernel->soon_deaths + 1 : 0;
    return kernel->soon_deaths < DEATH_SOON_MAX;
}

/* What the user has to know of what follows. */
static const char *consequence(const struct kernel *kernel, bool restarts)
{
    if (restarts) {
        return ". A new Python takes its place: all variables are gone";
    }
    return kernel->options->restart_in_place
               ? ". It is the third that died within 10 s of its start, so the kernel ends too"
               : "";
}

void worker_death(struct kernel *kernel, const struct death *death)
{
    bool restarts = kernel->options->restart_in_place && may_restart(kernel);
    struct buffer cause = BUFFER_INIT, details = BUFFER_INIT;

    death_put_cause(death, &cause);
    buffer_put_text(&cause, consequence(kernel, restarts));
    buffer_put_char(&cause, '\0');
    death_put_details(death, &details);
    put_report(kernel, death, (const char *)cause.p, (const char *)details.p);
    tell_clients(kernel, death, (const char *)cause.p, (const char *)details.p);
    buffer_release(&cause);
    buffer_release(&details);
    if (restarts) {
        restart_in_place(kernel);
    } else {
        stop_begin(kernel, death->outcome != 0 ? death->outcome : 1);
        kernel->linger_until_ms = kernel_now_ms() + DEATH_SETTLE_MS;
    }
}
