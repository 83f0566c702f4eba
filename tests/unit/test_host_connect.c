/* kernel/host_connect.c: how a worker is found, asked who it is, and given up. */

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/host_fixture.h"

/* ---- a transport of the caller's ---------------------------------------------------- */

/* A peer that fails before a worker is there: the documents' _InitializationFailureTransport. */
struct failing {
    const char *failure; /* write, read, block */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed, killed, graceful;
};

static int failing_write(void *arg, const char *line, size_t n)
{
    struct failing *self = arg;

    cr_assert_eq(line[n - 1], '\n');
    return strcmp(self->failure, "write") == 0 ? -EIO : 0;
}

static int failing_read(void *arg, const char **ret_line, size_t *ret_n)
{
    struct failing *self = arg;

    (void)ret_line;
    (void)ret_n;
    if (strcmp(self->failure, "read") == 0) {
        return -ECONNRESET;
    }
    (void)pthread_mutex_lock(&self->lock);
    while (!self->killed) {
        (void)pthread_cond_wait(&self->changed, &self->lock);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return 0;
}

static bool failing_alive(void *arg)
{
    return !((struct failing *)arg)->closed;
}

static bool failing_interrupt(void *arg)
{
    (void)arg;
    return false;
}

static void failing_kill(void *arg)
{
    struct failing *self = arg;

    (void)pthread_mutex_lock(&self->lock);
    self->killed = true;
    (void)pthread_cond_signal(&self->changed);
    (void)pthread_mutex_unlock(&self->lock);
}

static void failing_close(void *arg, bool graceful)
{
    struct failing *self = arg;

    self->closed = true;
    self->graceful = graceful;
}

static int failing_connect(void *arg, struct host_transport *ret_transport)
{
    *ret_transport = (struct host_transport){.arg = arg,
                                             .write_line = failing_write,
                                             .read_line = failing_read,
                                             .alive = failing_alive,
                                             .interrupt = failing_interrupt,
                                             .kill = failing_kill,
                                             .close = failing_close};
    return 0;
}

static int start_failing(struct failing *self, const char *failure, unsigned ready_ms,
                         struct host_error *ret_error)
{
    struct host_options options = HOST_OPTIONS_INIT;
    struct host *host = NULL;
    int r;

    *self = (struct failing){
        .failure = failure, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    options.connect = failing_connect;
    options.connect_arg = self;
    options.ready_ms = ready_ms;
    r = host_new(&options, &host, ret_error);
    cr_assert_null(host, "untouched on failure");
    return r;
}

/* test_attestation_initialization_errors_close_the_transport[write, read] */
Test(host_connect, a_failed_handshake_closes_the_transport_and_keeps_its_cause)
{
    static const struct {
        const char *failure;
        int cause;
    } rows[] = {{"write", EIO}, {"read", ECONNRESET}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct failing peer;
        struct host_error error;

        cr_assert_eq(start_failing(&peer, rows[i].failure, 0, &error), HOST_ESTART);
        cr_assert_eq(error.code, HOST_ESTART);
        cr_assert_eq(error.cause, rows[i].cause);
        cr_assert(strstr(error.text, "attestation initialization"), "%s", error.text);
        cr_assert(strstr(error.text, strerror(rows[i].cause)), "%s", error.text);
        cr_assert(peer.closed);
        cr_assert_not(peer.graceful);
    }
}

/* test_attestation_initialization_deadline_kills_the_blocked_transport */
Test(host_connect, the_deadline_kills_a_transport_that_blocks)
{
    struct failing peer;
    struct host_error error;

    cr_assert_eq(start_failing(&peer, "block", 10, &error), HOST_EDEADLINE);
    cr_assert_str_eq(error.text,
                     "kernel worker attestation initialization failed after 0.01s deadline");
    cr_assert(peer.killed);
    cr_assert(peer.closed);
}

static int refuse(void *arg, struct host_transport *ret_transport)
{
    (void)arg;
    (void)ret_transport;
    return -ECONNREFUSED;
}

Test(host_connect, a_transport_that_cannot_be_made_is_an_error)
{
    struct host_options options = HOST_OPTIONS_INIT;
    struct host *host = NULL;
    struct host_error error;

    options.connect = refuse;
    cr_assert_eq(host_new(&options, &host, &error), HOST_ESTART);
    cr_assert_eq(error.cause, ECONNREFUSED);
    cr_assert_eq(host_new(&options, &host, NULL), HOST_ESTART);
}

/* ---- spawned workers ----------------------------------------------------------------- */

Test(host_connect, answers_that_are_none_fail_with_what_the_worker_said)
{
    static const struct {
        const char *script, *text;
    } rows[] = {
        {"get; exit 3", "initialization failed (exit status 3)"},
        {"get; kill -SEGV $$", "initialization failed (signal 11"},
        {"get; say 'no json'; cat", "initialization failed"},
        {"get; say '[1]'; cat", "initialization failed"},
        {"get; say '{\"type\":\"initialized\",\"id\":\"other\"}'; cat", "initialization failed"},
        {"get; say '{\"type\":\"response\",\"id\":\"'$id'\"}'; cat", "initialization failed"},
        {"get; say '{\"type\":\"initialization_error\",\"id\":\"'$id'\",\"error\":\"bad key\"}'",
         "initialization failed: bad key"},
        {"echo 'no module named worker' >&2; exit 1", "(exit status 1)\nno module named worker\n"},
        {"get; i=0; while [ $i -lt 9 ]; do say '{\"type\":\"log\",\"msg\":\"m\"}'; i=$((i+1)); "
         "done; say '{\"type\":\"initialized\",\"id\":\"'$id'\"}'; cat",
         "initialization failed"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_stage stage;

        host_stage_init(&stage, rows[i].script);
        cr_assert_eq(host_stage_start(&stage), HOST_ESTART, "%s", rows[i].script);
        cr_expect(strstr(stage.error.text, rows[i].text), "%s:\n%s", rows[i].script,
                  stage.error.text);
        cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "it is reaped");
    }
}

Test(host_connect, eight_logs_may_come_before_the_answer_and_are_kept)
{
    struct host_stage stage;
    char **logs;
    size_t n = 0;

    host_stage_run(&stage, "get; say ''; for i in 0 1 2 3 4 5 6 7; do "
                           "say '{\"type\":\"log\",\"msg\":\"log '$i'\"}'; done; "
                           "say '{\"type\":\"initialized\",\"id\":\"'$id'\"}'; cat >/dev/null");
    logs = host_log_tail_dup(stage.host);
    while (logs[n]) {
        n++;
    }
    cr_assert_eq(n, 8);
    cr_assert_str_eq(logs[0], "log 0");
    cr_assert_str_eq(logs[7], "log 7");
    free(logs);
    host_destroy(&stage.host);
}

Test(host_connect, a_program_that_is_not_there_is_named)
{
    struct host_options options = HOST_OPTIONS_INIT;
    struct host *host = NULL;
    struct host_error error;

    options.einkorn = "/nowhere/einkorn";
    cr_assert_eq(host_new(&options, &host, &error), HOST_ESTART);
    cr_assert_eq(error.cause, ENOENT);
    cr_assert(strstr(error.text, "/nowhere/einkorn: "), "%s", error.text);
    options.cwd = "/nowhere/workspace";
    cr_assert_eq(host_new(&options, &host, &error), HOST_ESTART);
    cr_assert(strstr(error.text, "/nowhere/workspace"), "%s", error.text);
    options.size = 0;
    cr_assert_eq(host_new(&options, &host, &error), HOST_EVALUE);
}

/* The command and the environment of a worker, told by one that is only a script. */
static void expect_spawned(struct host_options *options, const char *program, const char *expected)
{
    char directory[] = "/tmp/einkorn-XXXXXX", path[64], search[128];
    char *environment[] = {search, NULL};
    struct host *host = NULL;
    struct host_error error;
    FILE *file;

    cr_assert(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/%s", directory, program);
    (void)snprintf(search, sizeof search, "PATH=%s:/usr/bin:/bin", directory);
    file = fopen(path, "we");
    cr_assert(file);
    (void)fprintf(file, "#!/bin/sh\necho \"$@\" >&2; echo \"$PATH\" >&2; exit 1\n");
    (void)fclose(file);
    cr_assert_eq(chmod(path, 0700), 0);
    options->einkorn = path;
    options->environment = environment;
    cr_assert_eq(host_new(options, &host, &error), HOST_ESTART);
    cr_assert(strstr(error.text, expected), "%s", error.text);
    cr_assert(strstr(error.text, search + 5), "PATH: %s", error.text);
    (void)unlink(path);
    (void)rmdir(directory);
}

Test(host_connect, the_worker_is_einkorn_frames_with_the_chosen_python)
{
    struct host_options options = HOST_OPTIONS_INIT;

    options.python = "/venv/bin/python";
    expect_spawned(&options, "einkorn", "frames --python /venv/bin/python\n/venv/bin:");
    options.python = NULL;
    expect_spawned(&options, "python3", "python3\n"); /* it leads PATH, so it is the one */
}

/* test_an_r_worker_path_is_not_given_the_daemon_python */
Test(host_connect, a_worker_with_its_own_command_does_not_get_our_python)
{
    char path[] = "PATH=/usr/bin:/bin";
    char *environment[] = {path, NULL};
    struct host_stage stage;

    host_stage_init(&stage, "echo \"path=$PATH\" >&2; exit 1");
    stage.options.environment = environment;
    stage.options.python = "/venv/bin/python";
    cr_assert_eq(host_stage_start(&stage), HOST_ESTART);
    cr_assert(strstr(stage.error.text, "\npath=/usr/bin:/bin\n"), "%s", stage.error.text);
}
