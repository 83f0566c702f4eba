#ifndef KERNEL_ABORT_WINDOW_H
#define KERNEL_ABORT_WINDOW_H

/*
 * Requests that were sent before a client could know of an error, and arrive
 * after it (Messaging spec, "Execute", stop_on_error).
 *
 * "Run All" sends every cell at once, but through a browser and a server they
 * come one by one, milliseconds apart; a kernel that fails a cell within one of
 * these has no queue to abort, and the rest would run. So for a moment after an
 * error a request is aborted too if its own date says that it was made before
 * the error's reply left. Only differences of the client's own dates are used,
 * so its clock may be wrong.
 *
 * A browser still makes requests while that reply is on its way to it: 1 to 5 ms
 * lie between two cells of JupyterLab's Run All. Its dates have milliseconds
 * only, where Python's have microseconds, and that tells it from programs, which
 * may react within less. From a browser what follows within ABORT_WINDOW_GAP_MS
 * belongs to the same run.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bridge/buffer.h"

enum {
    ABORT_WINDOW_MS = 1000,   /* how long after the error, or after the last that was aborted */
    ABORT_WINDOW_GAP_MS = 50, /* between two requests of one run in a browser; no human is faster */
    ABORT_WINDOW_SKEW_S = 60, /* a clock that is further off is not one to go by */
};

/* Zero-initialise: closed. */
struct abort_window {
    struct buffer session; /* of the client whose cell failed */
    int64_t until_us;      /* on the client's clock: what is older was not sent upon the reply */
    int64_t gap_us;        /* how far each request of a run moves until_us on; 0: a program's */
    int64_t closes_us;     /* CLOCK_MONOTONIC; 0: closed */
};

/*
 * The request with that raw header, which arrived at `arrived_us`
 * (CLOCK_MONOTONIC), has failed, and its reply is about to leave.
 */
void abort_window_open(struct abort_window *self, struct slice header, int64_t arrived_us);
void abort_window_release(struct abort_window *self);

/* Is the request with that header, which came now, one that was not sent upon that reply? */
bool abort_window_covers(struct abort_window *self, struct slice header);

/*
 * The microseconds since the epoch that an ISO 8601 date with a zone says
 * ("2026-11-29T15:30:00.123456Z", "…+01:00"), and the digits of its fraction.
 * -> 0, -EINVAL.
 */
int abort_window_parse_date(struct slice text, int64_t *ret_us, int *ret_digits);

#endif
