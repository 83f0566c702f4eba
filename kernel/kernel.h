#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

/*
 * One kernel: all that belongs together from the start to the end of the
 * process. Everything here is touched by one thread, the one of the zloop; the others
 * (control.h, history_keeper.h) have what is theirs behind a pipe or a lock.
 */

#include <czmq.h>

#include "bridge/link.h"
#include "kernel/cell_marker.h"
#include "kernel/comms.h"
#include "kernel/connection.h"
#include "kernel/history.h"
#include "kernel/input.h"
#include "kernel/iopub.h"
#include "kernel/lane.h"
#include "kernel/options.h"
#include "kernel/origin.h"
#include "kernel/output.h"
#include "kernel/parent_watch.h"
#include "kernel/paths.h"
#include "kernel/refusals.h"
#include "kernel/registration.h"
#include "kernel/remember.h"
#include "kernel/session.h"
#include "kernel/sockets.h"
#include "kernel/stall_watch.h"
#include "kernel/stuck.h"
#include "kernel/supervisor.h"
#include "kernel/time_limit.h"
#include "kernel/wire.h"

/* What became of the cell that ran when a stop began. */
enum stop_cell {
    STOP_CELL_NONE,   /* there was none */
    STOP_CELL_ENDED,  /* it took the interrupt, or came to its end */
    STOP_CELL_KILLED, /* Python was killed, or died, while it ran */
};

struct control;
struct shutdown_wait; /* requests/shutdown.c */
struct start;

/* Where the worker is in its life. */
enum worker_state {
    WORKER_STARTING, /* spawned, Python boots */
    WORKER_READY,    /* serves requests */
    WORKER_BROKEN,   /* never became ready: requests get `start_error` */
    WORKER_GONE,     /* has ended */
};

struct kernel {
    const struct options *options;
    char *python; /* the Python that runs the cells */
    struct paths paths;
    struct connection connection;
    struct registration registration;
    struct session session;
    struct signer *signer; /* replies, and verification */
    struct replay *replay;
    struct sockets sockets;
    struct control *control; /* the thread that has two of them; NULL: the loop has all */
    struct iopub iopub;
    struct output output;
    struct origins origins;
    struct lane lane;
    struct history history;
    struct remember remember; /* and where it goes */
    struct comms comms;
    struct input input;
    struct wire_message message; /* the one being handled */
    uint64_t replies_dropped;    /* for want of a client that reads */
    struct refusals refusals;    /* messages that were dropped or ignored */

    enum worker_state worker;
    struct supervisor supervisor;
    struct stuck stuck;
    struct time_limit time_limit;
    struct link_consumer door;
    struct link_sender sender;
    char python_version[32];  /* as pinned, then as the worker says */
    struct buffer start_text; /* what the worker wrote to fd 1 and 2 before it was ready */
    size_t early_text;        /* bytes logged of what it wrote before the first request */
    char *start_error;        /* WORKER_BROKEN: why, and what to do */

    long long worker_started_ms; /* CLOCK_MONOTONIC */
    int64_t died_us;             /* when the one before it was seen to be dead; 0: there was none */
    struct memory_group memory;  /* when the worker was started */
    const char *ended_because;   /* why the kernel killed the worker, not owned; NULL: it did not */
    struct buffer fd2;           /* the end of what the running cell wrote to fd 2 */
    struct buffer death_report;  /* of a death that may still prove to be a shutdown */
    pid_t dead_pid;              /* whose report that is */
    unsigned soon_deaths;        /* of workers in a row that died soon after their start */
    uint64_t stranger_seen;      /* SIGINTs of others that Python told of, see signals.c */
    uint64_t sigint_request;     /* the request that ran when we had the last one; 0: none */
    bool restarting;             /* clients have not been told yet that a new worker is there */
    struct supervisor leaving;   /* a dead worker that was replaced, while its group lives */
    long long leaving_ms;        /* when its group was told to end; 0: not yet */
    struct cell_marker marker;   /* which cell runs, for the kernel after us */
    char *notice;                /* what became of the kernel before us, for the first cell; NULL */

    zloop_t *loop;
    int signal_fd;
    struct parent_watch parents;
    bool shell_held;     /* shell is not read: too much waits */
    bool spoken_to;      /* a request or an answer has come */
    bool in_round;       /* the door's round is not over */
    bool door_quiet;     /* the last record was the end of what ran */
    int64_t await_us;    /* an answer is waited for until then, CLOCK_MONOTONIC; 0: none */
    uint64_t door_head;  /* the ring's head when it was last seen to move */
    long long head_ms;   /* and when that was */
    int door_timer;      /* looks at the door again; -1: none */
    int output_timer;    /* flushes waiting text; -1: none */
    int interrupt_timer; /* sends an interrupt again; -1: none */
    int stall_timer;     /* looks for subscribers that stand still; -1: none */
    struct stall_watch stall_watch;
    int watched[3];      /* bell and pipes that are in the loop; -1: not */
    bool trimmed;        /* what only the start needed is given back */
    bool door_corrupt;   /* the worker broke the format of the door */
    bool sender_watched; /* the request socket is polled for writing */

    bool stopping;             /* no new request is run */
    long long stop_ms;         /* when the stop began, CLOCK_MONOTONIC */
    long long group_ms;        /* when the rest of the worker's group was told to end; 0: not yet */
    long long linger_until_ms; /* not ended before, CLOCK_MONOTONIC; 0: at once */
    bool children_told;        /* what the cells started was told to end, Python still ends */
    bool given_up;             /* Python did not end in time */
    enum stop_cell stop_cell;
    int exit_status; /* of the process; or the negative signal it ends with */
    bool finished;   /* handlers return -1: the loop ends */

    struct shutdown_wait *shutdowns; /* requests that wait for the cell's end; owned */
};

/*
 * Runs a kernel from what start_init began to its end. Takes what is in `start`.
 * -> the process's exit status, or a negative signal.
 */
int kernel_run(const struct options *options, struct start *start);

/*
 * Another worker, at the other end of a new door. A failure is told to whoever runs a
 * cell (WORKER_BROKEN).
 */
void kernel_start_worker(struct kernel *kernel);

/* Puts the worker's end and the door into the loop. */
void kernel_watch_worker(struct kernel *kernel);

/* Milliseconds of CLOCK_MONOTONIC. */
long long kernel_now_ms(void);

#endif
