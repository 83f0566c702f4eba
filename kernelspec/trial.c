/*
 * One worker and one cell, without sockets. Kernel process, in `einkorn install`
 * and `einkorn doctor`.
 *
 * What a file says of itself proves little: a libpython can miss a library of
 * its own, an interpreter can export too few symbols, sitecustomize can end it.
 * So the very code of the kernel starts the worker, and a cell goes through the
 * door. Owns the worker until it has ended.
 */

#include "kernelspec/trial.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bridge/link.h"
#include "bridge/xalloc.h"
#include "kernel/death.h"
#include "kernel/supervisor.h"
#include "kernelspec/files.h"

enum {
    TRIAL_MS = 30000, /* a cold start from a network drive can be slow */
    END_MS = 5000,    /* Python's own end */
    OUTPUT_MAX = 64 * 1024,
};

struct trial {
    struct link_consumer door;
    struct link_sender sender;
    struct supervisor supervisor;
    const char *code;
    struct buffer text; /* what came on both streams; before READY: of the start */
    bool ready;
    bool done; /* the cell is answered */
    bool succeeded;
};

static long long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void send_cell(struct trial *self)
{
    json_t *content =
        json_pack("{s:s, s:b, s:b, s:{}, s:b, s:b}", "code", self->code, "silent", 0,
                  "store_history", 1, "user_expressions", "allow_stdin", 0, "stop_on_error", 1);
    char *text = json_dumps(content, JSON_COMPACT);
    const struct slice part[] = {
        slice_of("execute_request"),
        slice_of("{\"msg_id\":\"1\",\"msg_type\":\"execute_request\",\"session\":\"\","
                 "\"username\":\"\",\"date\":\"\",\"version\":\"5.5\"}"),
        slice_of("{}"),
        slice_of(text),
    };
    (void)link_sender_put(&self->sender, LINK_SHELL, 1, 1, part, sizeof part / sizeof part[0]);
    json_decref(content);
    free(text);
}

static void handle(struct trial *self, const struct link_item *item)
{
    struct link_parts parts;
    if (item->kind == LINK_STREAM && self->text.n < OUTPUT_MAX) {
        buffer_put_slice(&self->text, item->payload);
    } else if (item->kind == LINK_READY && !self->ready) {
        self->ready = true;
        buffer_clear(&self->text);
        send_cell(self);
    } else if (item->kind == LINK_DONE && !self->done) {
        self->done = true;
        self->succeeded = link_parts_read(item->payload, &parts) == 0 && parts.count >= 3 &&
                          slice_is(parts.part[2], "ok");
        link_sender_close(&self->sender);
    }
}

/* Takes what is there. -> whether there was something. */
static bool take(struct trial *self)
{
    struct link_item item;
    bool found = false;
    int r;
    link_consumer_begin(&self->door);
    while ((r = link_consumer_next(&self->door, &item)) == 1) {
        found = true;
        handle(self, &item);
    }
    if (r < 0) {
        supervisor_signal_group(&self->supervisor, SIGKILL);
    }
    return found;
}

/* Sleeps until the worker says something or ends. -> whether it lives and there is time left. */
static bool wait_for_more(struct trial *self, long long end)
{
    struct pollfd fd[] = {
        {.fd = self->supervisor.pidfd, .events = POLLIN},
        {.fd = self->door.bell, .events = POLLIN},
        {.fd = self->door.text[0].ended ? -1 : self->door.pipe[0], .events = POLLIN},
        {.fd = self->door.text[1].ended ? -1 : self->door.pipe[1], .events = POLLIN},
    };
    long long left = end - now_ms();
    int n = left > 0 ? poll(fd, sizeof fd / sizeof fd[0], (int)left) : 0;
    if (fd[1].revents != 0) {
        link_consumer_hush(&self->door);
    }
    return (n > 0 && fd[0].revents == 0) || (n < 0 && errno == EINTR);
}

static void converse(struct trial *self)
{
    long long end = now_ms() + TRIAL_MS;
    bool was_done = false;
    do {
        while (take(self) || !link_consumer_rest(&self->door, LINK_ASLEEP)) {
        }
        if (self->done && !was_done) {
            was_done = true;
            end = now_ms() + END_MS;
        }
    } while (wait_for_more(self, end));
}

/* The worker has ended, or its time is over. */
static void finish(struct trial *self, const char *python)
{
    struct pollfd ended = {.fd = self->supervisor.pidfd, .events = POLLIN};
    bool in_time = poll(&ended, 1, 0) == 1;
    supervisor_signal_group(&self->supervisor, SIGKILL); /* also what it has left behind */
    struct death death;
    death_init(&death, self->supervisor.pid);
    while (take(self)) {
    }
    if (!self->done && !in_time) {
        buffer_printf(&self->text, "%s did not get ready within %d s", python, TRIAL_MS / 1000);
    } else if (!self->done && self->text.n == 0) {
        death_put_cause(&death, &self->text);
        self->text.n--; /* its NUL */
    }
    death_release(&death);
    supervisor_reap(&self->supervisor);
}

int trial_run(const struct paths *paths, const char *python, const char *libpython,
              const char *code, struct buffer *ret_output)
{
    struct trial self = {.code = code, .supervisor.pidfd = -1};
    const struct supervisor_options options = {.python = python, .libpython = libpython};
    struct link_fds fds;
    int stdio[2];
    int r = link_consumer_init(&self.door, &fds, stdio);
    if (r < 0) {
        buffer_printf(ret_output, "no shared memory for the worker: %s", strerror(-r));
        return -1;
    }
    link_sender_init(&self.sender, &self.door);
    r = supervisor_spawn(&self.supervisor, paths, &options, &fds, stdio);
    if (r < 0) {
        buffer_printf(&self.text, "%s: %s", paths->launcher, strerror(-r));
    } else {
        converse(&self);
        finish(&self, python);
    }
    link_sender_release(&self.sender);
    link_consumer_release(&self.door);
    buffer_put_slice(ret_output, buffer_slice(&self.text));
    buffer_release(&self.text);
    return self.succeeded ? 0 : -1;
}

char *trial_last_line(const struct buffer *text)
{
    size_t end = text->n;
    while (end > 0 && (text->p[end - 1] == '\n' || text->p[end - 1] == '\r')) {
        end--;
    }
    size_t start = end;
    while (start > 0 && text->p[start - 1] != '\n') {
        start--;
    }
    return start < end ? text_format("%.*s", (int)(end - start), (const char *)text->p + start)
                       : xstrdup("no output");
}
