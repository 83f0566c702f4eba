#ifndef TESTS_SEEDS_SEED_H
#define TESTS_SEEDS_SEED_H

/*
 * A real worker, driven by libeinkorn-host, for the tests here. Its workspace is
 * a directory of its own. What a test wants to do on the wire beside the library
 * it does with a tap.
 */

#include <criterion/criterion.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "kernel/host.h"

struct seed;

/* Sees each line that the worker sends before the library does, and may write to it. */
typedef void seed_tap_fn(struct seed *self, const char *line, size_t n);

struct seed {
    struct host_options options;
    struct host *host;
    struct host_error error;
    char directory[64]; /* the workspace, absolute */

    seed_tap_fn *tap;           /* set before seed_start; NULL: none */
    const char *inject;         /* a line that is read before the worker's next one; once */
    bool mute_answers;          /* host_response frames of the library are dropped */
    struct host_transport wire; /* the real one, if there is a tap or `tapped` */
    bool tapped;
};

void seed_init(struct seed *self);  /* the workspace and the options; a test may change them */
void seed_start(struct seed *self); /* the worker; it must come up */
void seed_begin(struct seed *self, host_dispatch_fn *dispatch); /* both */
void seed_end(struct seed *self);

/* Writes a line to the worker, beside the library. Only with a tap, from it. */
void seed_write(struct seed *self, const char *line);

/* Runs a cell; it must come back. The caller's. */
struct host_result *seed_run(struct seed *self, const char *code);

/* Runs a cell that must end without an error and have printed that. */
void seed_expect(struct seed *self, const char *code, const char *expected);

/* ping → pong, add → the sum of [0].nums, anything else: `unknown method <m>`. arg: unused. */
host_dispatch_fn seed_echo;

/* A cell on a thread of its own. */
struct seed_cell {
    struct seed *seed;
    struct host_cell cell;
    struct host_result *result;
    struct host_error error;
    int r;
    pthread_t thread;
};
void seed_cell_begin(struct seed_cell *self, struct seed *seed, const char *code);
struct host_result *seed_cell_end(struct seed_cell *self); /* it must have a result; the caller's */

/* Something that a callback tells a test, once. Zero-initialise with SEED_EVENT_INIT. */
struct seed_event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool happened;
};
#define SEED_EVENT_INIT                                                                            \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false                                 \
    }
void seed_event_set(struct seed_event *self);
void seed_event_wait(struct seed_event *self); /* with a deadline */

/* seed_echo whose arg is an event, which a ping sets. */
host_dispatch_fn seed_ping_is_an_event;

#endif
