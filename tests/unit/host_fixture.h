#ifndef TESTS_UNIT_HOST_FIXTURE_H
#define TESTS_UNIT_HOST_FIXTURE_H

/*
 * A worker made of a few lines of shell, for the tests of kernel/host*.c. Its
 * script has these functions:
 *
 *   get          reads a request; its id is in $id then, the request in $line
 *   say FRAME    writes a line
 *   init         takes the handshake
 *   chunk TEXT   stdout of the cell;   reply TEXT   ends it
 *   call METHOD ARGS [ID]              asks the host; `get` reads the answer
 *   show TEXT    ends the cell with TEXT, quoted for JSON, as its stdout
 */

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/host.h"

#define HOST_SCRIPT_PRELUDE                                                                        \
    "get() { IFS= read -r line || exit 0; id=${line#*'\"id\":\"'}; id=${id%%'\"'*}; }\n"           \
    "say() { printf '%s\\n' \"$1\"; }\n"                                                           \
    "init() { get; say '{\"type\":\"initialized\",\"id\":\"'$id'\"}'; }\n"                         \
    "chunk() { say '{\"type\":\"stdout_chunk\",\"id\":\"'\"$id\"'\",\"text\":\"'\"$1\"'\"}'; }\n"  \
    "reply() { say '{\"type\":\"response\",\"id\":\"'\"$id\"'\",\"stdout\":\"'\"$1\"'\","          \
    "\"stderr\":\"\",\"error\":null,\"interrupted\":false,"                                        \
    "\"trace\":{\"error_lineno\":null,\"error_call\":null},"                                       \
    "\"guards\":{},\"files_read\":[],\"usage\":{\"wall_s\":0.5}}'; }\n"                            \
    "call() { say '{\"type\":\"host_call\",\"id\":\"'\"${3-hc-1}\"'\",\"method\":\"'\"$1\"'\","    \
    "\"args\":'\"$2\"'}'; }\n"                                                                     \
    "show() { id=$cell; reply \"$(printf '%s' \"$1\" | sed 's/[\\\\\"]/\\\\&/g')\"; }\n"

/* Options of a host whose worker runs that script. */
struct host_stage {
    struct host_options options;
    const char *argv[4];
    char script[8192];
    struct host *host;
    struct host_error error;
};

static inline void host_stage_init(struct host_stage *self, const char *script)
{
    *self = (struct host_stage){.options = HOST_OPTIONS_INIT};
    (void)snprintf(self->script, sizeof self->script, "%s%s", HOST_SCRIPT_PRELUDE, script);
    memcpy(self->argv, ((const char *[]){"sh", "-c", self->script, NULL}), sizeof self->argv);
    self->options.argv = self->argv;
}

static inline int host_stage_start(struct host_stage *self)
{
    return host_new(&self->options, &self->host, &self->error);
}

/* With a script that shakes hands. */
static inline void host_stage_run(struct host_stage *self, const char *script)
{
    host_stage_init(self, script);
    cr_assert_eq(host_stage_start(self), 0, "%s", self->error.text);
}

static inline struct host_result *host_stage_execute(struct host_stage *self, const char *code)
{
    struct host_cell cell = {.code = code};
    struct host_result *result = NULL;

    cr_assert_eq(host_execute(self->host, &cell, &result, &self->error), 0, "%s", self->error.text);
    return result;
}

#endif
