#ifndef KERNEL_HOST_RECORD_H
#define KERNEL_HOST_RECORD_H

/*
 * What is remembered of a worker: its last log messages and its last calls.
 * Whoever uses one has its host's lock.
 */

#include "bridge/slice.h"
#include "kernel/host.h"

enum { HOST_LOGS = 32, HOST_LOG_CHARACTERS = 2000, HOST_CALLS = 256 };

struct host_record {
    struct host_text logs[HOST_LOGS]; /* a ring, as the other: number i is in i % HOST_LOGS */
    size_t log_count;
    struct host_call_entry *calls; /* NULL: none yet */
    size_t call_count;
};

void host_record_release(struct host_record *self);

/* Takes the text; what is past the bound is cut off. */
void host_record_log(struct host_record *self, struct host_text *text);

/* Lineage calls (prov_…) are not kept. `cell_id` NULL: none ran. */
void host_record_call(struct host_record *self, struct slice method, const char *cell_id,
                      bool failed, double seconds);

char **host_record_logs_dup(const struct host_record *self);
struct host_call_entry *host_record_calls_dup(const struct host_record *self, size_t *ret_n);

#endif
