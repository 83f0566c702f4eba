/*
 * Two rings. Part of libeinkorn-host. Owns the texts.
 */

#include "kernel/host_record.h"

#include <stdlib.h>
#include <string.h>

#include "bridge/utf8.h"
#include "bridge/xalloc.h"
#include "kernel/host_frame.h"

void host_record_release(struct host_record *self)
{
    for (size_t i = 0; i < HOST_LOGS; i++) {
        host_text_release(&self->logs[i]);
    }
    free(self->calls);
    *self = (struct host_record){0};
}

void host_record_log(struct host_record *self, struct host_text *text)
{
    struct host_text *place = &self->logs[self->log_count++ % HOST_LOGS];
    struct slice whole = {(const uint8_t *)text->p, text->n};

    /* A lone surrogate is not UTF-8: then bytes are counted. */
    whole.n = utf8_valid(whole) == whole.n    ? utf8_prefix(whole, HOST_LOG_CHARACTERS)
              : whole.n < HOST_LOG_CHARACTERS ? whole.n
                                              : HOST_LOG_CHARACTERS;
    host_text_release(place);
    *place = host_text_of(whole);
    host_text_release(text);
}

static void copy_cut(char *to, size_t size, struct slice from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;

    n = utf8_valid((struct slice){from.p, n});
    memcpy(to, from.p, n);
    to[n] = '\0';
}

void host_record_call(struct host_record *self, struct slice method, const char *cell_id,
                      bool failed, double seconds)
{
    struct host_call_entry *entry;

    if (method.n >= 5 && memcmp(method.p, "prov_", 5) == 0) {
        return;
    }
    if (!self->calls) {
        self->calls = xcalloc(HOST_CALLS, sizeof *self->calls);
    }
    /* The command ran in the worker, and this is how we hear of it. */
    if (slice_is(method, "record_bash_result")) {
        method = slice_of("bash");
    }
    entry = &self->calls[self->call_count++ % HOST_CALLS];
    *entry = (struct host_call_entry){.failed = failed, .seconds = seconds};
    copy_cut(entry->method, sizeof entry->method, method);
    copy_cut(entry->cell_id, sizeof entry->cell_id, slice_of(cell_id ? cell_id : ""));
}

char **host_record_logs_dup(const struct host_record *self)
{
    size_t n = self->log_count < HOST_LOGS ? self->log_count : HOST_LOGS;
    size_t first = self->log_count - n, bytes = (n + 1) * sizeof(char *);
    char **result;
    char *at;

    for (size_t i = 0; i < n; i++) {
        bytes += self->logs[i].n + 1;
    }
    result = xmalloc(bytes);
    at = (char *)(result + n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct host_text *log = &self->logs[(first + i) % HOST_LOGS];

        result[i] = memcpy(at, log->p, log->n + 1);
        at += log->n + 1;
    }
    result[n] = NULL;
    return result;
}

struct host_call_entry *host_record_calls_dup(const struct host_record *self, size_t *ret_n)
{
    size_t n = self->call_count < HOST_CALLS ? self->call_count : HOST_CALLS;
    struct host_call_entry *result = xcalloc(n + 1, sizeof *result);

    for (size_t i = 0; i < n; i++) {
        result[i] = self->calls[(self->call_count - n + i) % HOST_CALLS];
    }
    *ret_n = n;
    return result;
}
