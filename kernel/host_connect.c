/*
 * From no worker to one that has answered, and back. Part of libeinkorn-host;
 * runs on the thread that has the turn.
 *
 * A transport is known to the others (interrupt, kill) before the handshake, so
 * that the deadline, and a host_shutdown, can kill what does not answer.
 */

#include "kernel/host_self.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernel/host_command.h"
#include "kernel/host_error.h"
#include "kernel/host_stderr.h"
#include "kernel/host_thread.h"

static const char failed[] = "kernel worker attestation initialization failed";

static int spawn_worker(struct host *self, struct host_transport *ret_transport,
                        struct host_error *reterr)
{
    struct host_command command;
    struct host_environment of = {
        .source = self->options.environment,
        .mode = self->options.mode,
        .cwd = self->cwd,
        .env_root = self->options.env_root,
        .env_name = self->options.env_name,
        .generation = self->authorization,
        .repo_root = self->options.repo_root,
    };
    struct host_pipe_options pipes = {
        .cwd = self->cwd,
        .shutdown_ms = self->options.shutdown_ms,
        .line_limit = self->options.line_limit,
    };
    char **environment;
    int r;

    host_command_init(&command, &self->options);
    of.interpreter = command.interpreter;
    environment = host_environment_new(&of);
    pipes.argv = host_command_argv(&command, &self->options);
    pipes.environment = environment;
    r = host_pipe_transport(&pipes, ret_transport);
    if (r < 0) {
        r = host_error_set(reterr, HOST_ESTART, -r, "kernel worker could not be started: %s: %s",
                           pipes.argv[0], strerror(-r));
    }
    free(environment);
    host_command_release(&command);
    return r;
}

static int open_transport(struct host *self, struct host_error *reterr)
{
    struct host_transport transport;
    char token[HOST_TOKEN_TEXT];
    int r;

    host_token(token, 16);
    (void)pthread_mutex_lock(&self->lock);
    if (!self->options.connect) {
        (void)snprintf(self->authorization, sizeof self->authorization, "kernel:%s:%u", token,
                       self->generation);
    } else {
        (void)snprintf(self->authorization, sizeof self->authorization, "%s",
                       self->options.generation ? self->options.generation : "");
    }
    (void)pthread_mutex_unlock(&self->lock);
    if (!self->options.connect) {
        r = spawn_worker(self, &transport, reterr);
    } else {
        r = self->options.connect(self->options.connect_arg, &transport);
        if (r < 0) {
            r = host_error_set(reterr, HOST_ESTART, -r, "kernel worker could not be reached: %s",
                               strerror(-r));
        }
    }
    if (r < 0) {
        return r;
    }
    (void)pthread_mutex_lock(&self->lock);
    self->transport = transport;
    self->connected = true;
    (void)pthread_mutex_unlock(&self->lock);
    return 0;
}

void host_disconnect(struct host *self, bool graceful)
{
    struct host_transport transport;
    bool connected;
    char *tail = NULL;
    size_t n = 0;

    (void)pthread_mutex_lock(&self->lock);
    connected = self->connected;
    transport = self->transport;
    if (connected && transport.stderr_tail) {
        tail = xmalloc(HOST_STDERR_KEPT);
        n = transport.stderr_tail(transport.arg, tail, HOST_STDERR_KEPT);
    }
    if (connected) {
        free(self->last_stderr);
        self->last_stderr = tail;
        self->last_stderr_n = n;
    }
    self->connected = false;
    (void)pthread_mutex_unlock(&self->lock);
    if (connected) {
        transport.close(transport.arg, graceful);
    }
}

/* ---- how a worker died ------------------------------------------------------------------ */

static void put_outcome(struct buffer *text, int status)
{
    if (WIFEXITED(status)) {
        buffer_printf(text, " (exit status %d)", WEXITSTATUS(status));
    } else {
        buffer_printf(text, " (signal %d, %s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
}

/* faulthandler ends with the names of all extension modules, hundreds of them, in one line. */
static size_t without_modules(char *text, size_t n)
{
    static const char words[] = "\nExtension modules: ";
    char *line = memmem(text, n, words, sizeof words - 1);
    char *end = line ? memchr(line + 1, '\n', n - (size_t)(line + 1 - text)) : NULL;

    if (line && !end) {
        return (size_t)(line + 1 - text);
    }
    if (line) {
        memmove(line, end, n - (size_t)(end - text));
        n -= (size_t)(end - line);
    }
    return n;
}

/* What it wrote last. */
static void put_stderr(struct host *self, struct buffer *text)
{
    enum { ROOM = 3000 };
    char *tail = xmalloc(HOST_STDERR_KEPT);
    size_t n = self->transport.stderr_tail(self->transport.arg, tail, HOST_STDERR_KEPT);

    n = without_modules(tail, n);
    if (n > 0) {
        buffer_put_text(text, "\n");
        buffer_put(text, tail + (n > ROOM ? n - ROOM : 0), n > ROOM ? ROOM : n);
    }
    free(tail);
}

/* The end of a sentence about a worker that is of no use: why, and what it wrote last. */
static void put_last_words(struct host *self, int cause, struct buffer *text)
{
    int status;
    bool ended = self->transport.ended && self->transport.ended(self->transport.arg, &status);

    if (ended) {
        put_outcome(text, status);
    }
    if (cause != 0 && !(ended && cause == EPIPE)) { /* which says the same again */
        buffer_printf(text, ": %s", strerror(cause));
    }
    if (self->transport.stderr_tail) {
        put_stderr(self, text);
    }
    buffer_put_char(text, '\0');
}

int host_tell_death(struct host *self, int cause, struct host_error *reterr)
{
    struct buffer text = BUFFER_INIT;

    if (reterr) {
        buffer_put_text(&text, "kernel worker died");
        put_last_words(self, cause, &text);
        (void)host_error_set(reterr, HOST_EDEAD, cause, "%s", (const char *)text.p);
        buffer_release(&text);
    }
    self->transport.kill(self->transport.arg); /* one that lives on is deaf or mute */
    return HOST_EDEAD;
}

/* ---- handshake ---------------------------------------------------------------------------- */

/* -> 0; 1: another line has to be read; HOST_ESTART: the worker is not ours. */
static int take_answer(struct host *self, struct slice line, const char *id, unsigned *logs)
{
    struct host_frame frame;

    if (host_frame_open(&frame, line) < 0) {
        return HOST_ESTART;
    }
    if (frame.type == HOST_FRAME_LOG && (*logs)++ < HOST_LOGS_ACCEPTED) {
        struct host_text message = host_frame_text(&frame, "msg");

        if (message.p) {
            (void)pthread_mutex_lock(&self->lock);
            host_record_log(&self->record, &message);
            (void)pthread_mutex_unlock(&self->lock);
        }
        return 1;
    }
    return frame.type == HOST_FRAME_INITIALIZED && host_frame_says(&frame, "id", id) ? 0
                                                                                     : HOST_ESTART;
}

/* The worker's own words, where it refused. */
static void put_refusal(struct slice line, struct buffer *text)
{
    struct host_frame frame;
    struct host_text said;

    if (host_frame_open(&frame, line) == 0 && frame.type == HOST_FRAME_INITIALIZATION_ERROR) {
        said = host_frame_text(&frame, "error");
        buffer_printf(text, ": %.500s", said.p ? said.p : "no reason given");
        host_text_release(&said);
    }
}

static int shake_hands(struct host *self, struct buffer *text, struct host_error *reterr)
{
    char id[HOST_TOKEN_TEXT], key[HOST_TOKEN_TEXT];
    struct buffer line = BUFFER_INIT;
    struct slice answer;
    unsigned logs = 0;
    int r;

    host_token(id, 16);
    host_token(key, HOST_TOKEN_BYTES);
    (void)pthread_mutex_lock(&self->lock);
    host_skills_begin(&self->skills, key);
    (void)pthread_mutex_unlock(&self->lock);
    buffer_printf(&line,
                  "{\"type\":\"initialize\",\"id\":\"%s\",\"skill_attestation_key\":\"%s\"}\n", id,
                  key);
    r = host_send(self, buffer_slice(&line), reterr);
    memset(line.p, 0, line.n);
    memset(key, 0, sizeof key);
    buffer_release(&line);
    if (r < 0) {
        return r;
    }
    do {
        do {
            r = host_receive(self, &answer, reterr);
        } while (r == 0 && answer.n == 0);
        if (r == 0) {
            r = take_answer(self, answer, id, &logs);
        }
    } while (r == 1);
    if (r == HOST_ESTART) {
        put_refusal(answer, text);
    }
    return r;
}

static void kill_host(void *arg)
{
    host_kill(arg);
}

int host_connect(struct host *self, struct host_error *reterr)
{
    struct host_error why = {.code = 0};
    struct host_deadline deadline;
    struct buffer text = BUFFER_INIT;
    int r = open_transport(self, reterr);

    if (r < 0) {
        return r;
    }
    r = host_deadline_start(&deadline, self->options.ready_ms, kill_host, self);
    if (r < 0) {
        host_disconnect(self, false);
        return host_error_set(reterr, HOST_ESTART, -r, "%s: no thread: %s", failed, strerror(-r));
    }
    buffer_put_text(&text, failed);
    r = shake_hands(self, &text, &why);
    if (host_deadline_stop(&deadline)) {
        buffer_printf(&text, " after %gs deadline", self->options.ready_ms / 1000.0);
        r = HOST_EDEADLINE;
    }
    if (r < 0) {
        put_last_words(self, why.cause, &text);
        (void)host_error_set(reterr, r == HOST_EDEADLINE ? r : HOST_ESTART, why.cause, "%s",
                             (const char *)text.p);
        r = r == HOST_EDEADLINE ? r : HOST_ESTART;
        host_disconnect(self, false);
    }
    buffer_release(&text);
    return r;
}
