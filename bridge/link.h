#ifndef BRIDGE_LINK_H
#define BRIDGE_LINK_H

/*
 * The door between the kernel process and the worker (the Python process).
 * It is the only way the two meet, and it is linked into both. Everything
 * that crosses it is described here; docs/link.md tells the reasons.
 *
 *   worker → kernel   records in a ring of shared memory, an eventfd as bell
 *   kernel → worker   requests over a stream socketpair; large ones by an area of
 *                     the shared memory, or as memfds over the socketpair
 *   worker → kernel   memfds of large payloads, over the same socketpair
 *   fd 1, fd 2        pipes whose read ends the kernel has
 *   side pipe         what faulthandler writes (death and stuck reports)
 *
 * The kernel trusts nothing in the shared memory: it keeps its own tail and
 * sizes, and every length is checked against them. LINK_ECORRUPT ends the
 * worker, never the kernel. No file behind this header includes Python.h or
 * czmq.h, allocates in the producer, or takes a lock in a signal handler.
 *
 * Errors: 0 or a negative value, a -errno or one of enum link_error.
 */

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bridge/buffer.h"
#include "bridge/slice.h"

enum {
    LINK_VERSION = 5,
    LINK_PAGE_SIZE = 64 << 10,  /* the shared page's room: the largest page size of Linux */
    LINK_RING_SIZE = 4 << 20,   /* bytes; a power of two */
    LINK_AREA_SIZE = 2 << 20,   /* bytes of the area */
    LINK_RECORD_MAX = 1 << 20,  /* bytes of one record's body in the ring */
    LINK_STREAM_MAX = 32 << 10, /* bytes of a request's payload that go through the socket */
    LINK_PARTS_MAX = 1024,      /* parts of one record or request */
};
#define LINK_PAYLOAD_MAX ((uint64_t)1 << 31) /* bytes of one payload, whole */

enum link_error {
    LINK_ECORRUPT = -10001,     /* the other side broke the format */
    LINK_EINTERRUPTED = -10002, /* waiting was given up: link_wait.resume said so */
    LINK_EFORKED = -10003,      /* this is a forked child: it has no door */
    LINK_ECLOSED = -10004,      /* the other side closed the request socket */
};

/* ---- records, worker → kernel ------------------------------------------ */

/*
 * A record in the ring: this header, `length` bytes of body, zero to fifteen
 * bytes of padding. It becomes visible by one store of `head` after all its
 * bytes are in place, so a producer that dies inside a record shows nothing.
 */
struct link_record {
    uint32_t kind;    /* enum link_kind | LINK_* flags */
    uint32_t length;  /* bytes of the body in the ring, without padding */
    uint64_t request; /* the number of the request it belongs to; 0: none */
};
enum { LINK_ALIGN = 16 };

/* What a record says; bodies marked "parts" are as in link_parts below. */
enum link_kind {
    LINK_READY = 1,   /* the worker serves requests; parts: Python's version */
    LINK_STREAM = 2,  /* text for stdout, or stderr with LINK_STDERR; UTF-8 */
    LINK_PUBLISH = 3, /* an IOPub message; parts: type, metadata, content, buffers… */
    LINK_ASK = 4,     /* input() waits; parts: serial (8 bytes), content of input_request;
                         content empty: nobody waits for that serial any more (interrupted) */
    LINK_SYNC = 5,    /* struct link_sync: how far the pipes stand before the next record */
    LINK_DONE = 6,    /* the request is answered; parts: reply content, metadata,
                         "ok" | "error" | "exit" (ok, and exit() was called: the kernel ends) */
    LINK_LOOKUP = 7,  /* what does the kernel know of a request? parts: serial (8 bytes) of the
                         ANSWER, which is an object as text, "control" | "message", its msg_id */
    LINK_BEGIN = 8,   /* a COMM is taken up: it has the word until its DONE; no parts. Of the cell
                         that runs: it awaits, and takes COMMs that cells stand before, too */
    LINK_HISTORY = 9, /* for the history (kernel/remember.h); parts: "hold"; or "place", a file,
                         "outputs" | ""; or "source", a text of the cell that runs */
    LINK_KIND_END
};
enum {
    LINK_KIND_MASK = 0xff,
    LINK_STDERR = 0x100, /* STREAM: stderr instead of stdout */
    LINK_MORE = 0x200,   /* the payload goes on in the next record (same kind, same request) */
    LINK_LARGE = 0x400,  /* the body is a struct link_large; the payload is in a memfd */
    LINK_FLAGS = LINK_STDERR | LINK_MORE | LINK_LARGE,
};

/* Positions count bytes since the start of each pipe. */
struct link_sync {
    uint64_t position[2]; /* fd 1, fd 2 */
};

/*
 * Names a sealed memfd (SHRINK, GROW, WRITE, SEAL) that was sent over the
 * socketpair (SCM_RIGHTS, with the serial as its eight bytes) before this
 * record was published. Serials count from 1.
 */
struct link_large {
    uint64_t serial;
    uint64_t size; /* bytes of the payload */
};

/* ---- the shared page ---------------------------------------------------- */

/* What the kernel will do next; the producer reads it to decide on the bell. */
enum link_attention {
    LINK_AWAKE = 0,  /* looks at the ring again by itself, at once: no bell */
    LINK_DOZING = 1, /* looks again by timer within milliseconds: no bell for STREAM and PUBLISH */
    LINK_ASLEEP = 2, /* has no timer: bell for every record */
};

/* Numbers both sides read without a message. Each has one writer. */
struct link_page {
    uint32_t magic;   /* set by the kernel before the spawn */
    uint32_t version; /* LINK_VERSION */

    alignas(64) _Atomic uint64_t head; /* worker: bytes ever published */

    alignas(64) _Atomic uint64_t tail; /* kernel: bytes ever consumed */
    _Atomic uint32_t tail_changes;     /* kernel: futex word, counts moves of tail */
    _Atomic uint32_t producer_waits;   /* worker: 1 while it sleeps on tail_changes */

    alignas(64) _Atomic uint32_t attention; /* kernel; the bell's ringer takes it back to AWAKE */

    alignas(64) _Atomic uint32_t pipe_sequence; /* kernel: odd while it reads a pipe */
    _Atomic uint64_t pipe_taken[2];             /* kernel: bytes it has read from fd 1, fd 2 */

    alignas(64) _Atomic uint64_t area_taken; /* worker: requests it has copied out of the area */

    alignas(64) _Atomic uint64_t comm_last; /* kernel: number of the last COMM; 0: none yet */
    _Atomic uint64_t comm_refused;          /* kernel: COMMs up to this number have their idle */

    /* An interrupt: the kernel stores the request's number, then a serial that counts up. */
    alignas(64) _Atomic uint64_t interrupt_number; /* kernel: the request to interrupt */
    _Atomic uint64_t interrupt_serial;             /* kernel: counts interrupts asked for */
    _Atomic uint64_t interrupt_acknowledged;       /* worker: the last serial it took up */
    _Atomic uint64_t running;                      /* worker: request whose code runs; 0: none */

    /* A SIGINT that neither side sent and that counts as an interrupt of a request. */
    _Atomic uint64_t stranger_request; /* worker: which request */
    _Atomic int64_t stranger_ns;       /* worker: when, CLOCK_MONOTONIC */
    _Atomic uint64_t stranger_serial;  /* worker: counts them, last */

    _Atomic bool group_told; /* worker: it has ended, and told the rest of its group to end */

    /* kernel: this session's number in the history's file; 0: none; or LINK_SESSION_COMES */
    _Atomic int64_t history_session;
};
enum { LINK_SESSION_COMES = -1 }; /* a cell is on its way into the file */

/* ---- payloads of several parts ------------------------------------------ */

/*
 * The form of every multi-part payload, in both directions: u32 count, u32
 * padding, u64 length[count], as many bytes as padding says, then the parts'
 * bytes one after another. Host byte order: both sides are one machine.
 */
enum { LINK_PART_ALIGN = 64, LINK_PADDING_MAX = 64 };
struct link_parts {
    struct slice part[LINK_PARTS_MAX];
    size_t count;
};

/* Finds the parts of a payload. They point into it. -> 0, LINK_ECORRUPT. */
int link_parts_read(struct slice payload, struct link_parts *ret_parts);

/*
 * Bytes of the payload that these parts make.
 * -> 0, -EMSGSIZE: too many parts or more than LINK_PAYLOAD_MAX bytes.
 */
int link_parts_size(const struct slice *part, size_t count, uint64_t *ret_size);

/* A large payload, mapped or copied. Freed with the last reference, from any thread. */
struct link_mapping;
struct link_mapping *link_mapping_ref(struct link_mapping *self);
void link_mapping_unref(struct link_mapping *self); /* NULL-safe */

/* ---- both ends ------------------------------------------------------------ */

/* The worker's ends, as numbers that survive exec. See link_fds_format. */
struct link_fds {
    int memory;  /* memfd: the page, then the ring */
    int bell;    /* eventfd */
    int request; /* the worker's end of the socketpair */
    int pipe[2]; /* dups of both pipes' read ends, to ask how many bytes wait */
    int side;    /* write end of the side pipe, O_NONBLOCK */
};

/* "7,8,9,10,11,12": how the fds are named on a command line. */
enum { LINK_FDS_TEXT = 6 * 12 };
void link_fds_format(const struct link_fds *self, char ret_text[LINK_FDS_TEXT]);
int link_fds_parse(const char *text, struct link_fds *ret_fds); /* -> 0, -EINVAL */

/* The mapping: the page, then the ring twice in a row, so no record wraps, then the area. */
struct link_memory {
    struct link_page *page;
    uint8_t *ring; /* LINK_RING_SIZE bytes, mirrored behind themselves */
    uint8_t *area; /* LINK_AREA_SIZE bytes: a request on its way */
};
int link_memory_create(int *ret_fd);                         /* sealed memfd with a fresh page */
int link_memory_map(int fd, struct link_memory *ret_memory); /* -> 0, -errno, LINK_ECORRUPT */
int link_memory_hide_from_forks(struct link_memory *self);   /* MADV_DONTFORK; -> 0, -errno */
void link_memory_release(struct link_memory *self);

/* ---- the worker's end: producer -------------------------------------------- */

/*
 * How a thread waits without blocking the others. `release` gives the GIL up
 * and returns what `resume` needs; `resume` takes it again. With `interrupted`
 * a signal ended the sleep: resume then runs the signals' Python handlers and
 * returns nonzero when the thread shall give up (a handler raised). Without it
 * the work is done already: resume only takes the GIL, its result is ignored,
 * and it must raise nothing. Between the two calls the door runs without the
 * GIL. A NULL wait: the caller holds nothing and is never interrupted (unit
 * tests, C threads).
 */
struct link_wait {
    void *(*release)(void);
    int (*resume)(void *state, bool interrupted);
};

/*
 * A lock whose wait a signal can end, which a pthread mutex does not offer.
 * 0 free, 1 held, 2 held and somebody sleeps. See bridge/link_futex.h.
 */
struct link_lock {
    _Atomic uint32_t state;
};

struct link_producer {
    struct link_memory memory;
    struct link_fds fds;
    int watch;              /* tells whether bytes wait in a pipe */
    struct link_lock lock;  /* one payload at a time, over all records of it */
    uint64_t head;          /* under lock: our copy */
    uint64_t tail;          /* under lock: the kernel's tail when we last looked */
    uint64_t synced[2];     /* under lock: positions of the last SYNC */
    uint64_t large_serial;  /* under lock: of the last memfd sent */
    pid_t owner;            /* the process whose door it is; children have none */
    _Atomic uint32_t *mark; /* 1; a fork wipes it (MADV_WIPEONFORK); NULL: ask getpid */
};

/*
 * Maps the memory (MADV_DONTFORK), makes every fd CLOEXEC. The fds are the
 * producer's from then on, also those that only others use; on failure they
 * stay the caller's. -> 0, -errno, LINK_ECORRUPT.
 */
int link_producer_init(struct link_producer *self, const struct link_fds *fds);

/* Unmaps and closes; no thread may be writing. Does nothing in a forked child. */
void link_producer_release(struct link_producer *self);

/* In a forked child nothing of the door may be touched. Async-signal-safe. */
bool link_producer_is_ours(const struct link_producer *self);

/*
 * Writes one record of any size. `kind` with its flag LINK_STDERR; the body is
 * the concatenation of `part`. Up to LINK_RECORD_MAX it goes into the ring;
 * above, into a memfd of its own, or, where none can be had, into several
 * records with LINK_MORE. Blocks while the ring is full, by `wait`. If bytes
 * wait in a pipe, or were read from it since the last SYNC, a SYNC goes before
 * it; DONE always has one.
 * Thread-safe. The bytes must stay as they are until it returns: they are read
 * without the GIL. Nothing of the record is visible unless 0 comes back.
 * -> 0, LINK_EINTERRUPTED, LINK_EFORKED, -EMSGSIZE (above LINK_PAYLOAD_MAX).
 */
int link_producer_write(struct link_producer *self, uint32_t kind, uint64_t request,
                        const struct slice *part, size_t count, const struct link_wait *wait);

/*
 * The same for payloads of parts: frames them as struct link_parts says.
 * -EMSGSIZE also for more than LINK_PARTS_MAX parts.
 */
int link_producer_write_parts(struct link_producer *self, uint32_t kind, uint64_t request,
                              const struct slice *part, size_t count, const struct link_wait *wait);

/* ---- the kernel's end: consumer --------------------------------------------- */

/*
 * One thing that the worker said, in order. A payload of parts is a private
 * copy or sealed: what was checked stays so. The text of a STREAM may lie in
 * the ring, where a worker gone wild can still change it: copy it first, then
 * look at what it says.
 */
struct link_item {
    enum link_kind kind; /* never SYNC: the consumer uses those up itself */
    bool from_pipe;      /* STREAM: bytes of fd 1 or fd 2, any bytes; request is 0 */
    bool is_stderr;      /* STREAM */
    uint64_t request;
    struct slice payload;         /* whole; valid until next, begin or release is called */
    struct link_mapping *mapping; /* not NULL: payload lies in it; ref it to keep it longer */
};

struct link_consumer {
    struct link_memory memory;
    int bell;           /* eventfd: poll for reading */
    int request;        /* our end of the socketpair */
    int pipe[2];        /* read ends, O_NONBLOCK */
    int side;           /* read end of the side pipe, O_NONBLOCK */
    uint64_t tail;      /* our copy; the page's is only for the producer */
    uint64_t head;      /* the head that this round goes to */
    uint64_t next_tail; /* where tail goes when the item is done with */
    uint64_t taken[2];  /* bytes read from each pipe */
    struct {
        struct buffer bytes; /* read; those from `start` on are not handed out yet */
        size_t start;
        bool ended; /* EOF seen: poll would report it for ever */
    } text[2];
    struct link_sync sync; /* positions of the last SYNC */
    bool syncing;          /* text below them is still to be handed out */
    struct buffer joined;  /* private copy of a payload, of one or more records */
    bool joining;          /* its last record has not come yet */
    uint32_t joined_kind;  /* while joining: kind and LINK_STDERR */
    uint64_t joined_request;
    uint64_t large_serial;        /* of the last memfd received */
    int spare;                    /* an open fd whose place the next memfd may have */
    struct link_mapping *mapping; /* of the current item */
    bool corrupt;
};

/*
 * Makes both ends of a new door. The worker's fds come back without CLOEXEC,
 * to be inherited; the caller closes them after the spawn (link_fds_close).
 * ret_stdio are the write ends for fd 1 and fd 2 of the worker, with CLOEXEC:
 * the spawn dup2s them, then the caller closes them. -> 0, -errno.
 */
int link_consumer_init(struct link_consumer *self, struct link_fds *ret_fds, int ret_stdio[2]);
void link_consumer_release(struct link_consumer *self);
void link_fds_close(struct link_fds *self);

/* Takes what rang; poll said the bell is readable. */
void link_consumer_hush(struct link_consumer *self);

/*
 * One round: reads the pipes (at most 256 KiB each), then loads head. Then
 * link_consumer_next hands out what is there, in order, until it returns 0.
 * A caller may stop in the middle and go on later: begin is called only when
 * next has returned 0. A new round is AWAKE. When the worker has died, rounds
 * until one hands out nothing give all it said.
 */
void link_consumer_begin(struct link_consumer *self);

/* -> 1: an item; 0: the round is over; LINK_ECORRUPT: the worker must end. */
int link_consumer_next(struct link_consumer *self, struct link_item *ret_item);

/* Says LINK_AWAKE ahead of the next round, which must come without a bell. */
void link_consumer_wake(struct link_consumer *self);

/* Has the worker said something that a new round would find? Not what is in the pipes. */
bool link_consumer_has_news(const struct link_consumer *self);

/*
 * Says what we will do next (LINK_DOZING, LINK_ASLEEP).
 * -> true: nothing new came meanwhile, sleep; false: start a new round, we are LINK_AWAKE.
 */
bool link_consumer_rest(struct link_consumer *self, enum link_attention attention);

/* ---- requests, kernel → worker ------------------------------------------------ */

enum link_request_kind {
    LINK_NEXT = 0,  /* to the reader only: a COMM, or a SHELL if none has come */
    LINK_SHELL = 1, /* one at a time per lane; parts: type, header, metadata, content, buffers… */
    LINK_ANSWER =
        2, /* overtakes; number: the ASK's serial; parts: "ok"|"eof"|"error", value or text */
    LINK_COMM = 3,   /* overtakes, if no execute_request stands before it; numbers grow; parts as
                        SHELL. The next SHELL comes when all of them are DONE */
    LINK_URGENT = 4, /* overtakes everything (debugger, subshells); parts as SHELL */
    LINK_REQUEST_END
};

/*
 * On the socket: this, then `length` bytes: a payload of parts. With LINK_AREA
 * no bytes follow; the payload lies in the area until the worker has counted
 * area_taken up. With LINK_LARGE it is all of a sealed memfd that came with the
 * header (SCM_RIGHTS).
 */
enum { LINK_AREA = 0x800 };
struct link_request_header {
    uint32_t kind;   /* enum link_request_kind, LINK_AREA or LINK_LARGE */
    uint32_t count;  /* SHELL: the execution count that the cell shows; else 0 */
    uint64_t number; /* of the request; never 0 */
    uint64_t length;
};

/* The kernel's queue. It never blocks; what the socket does not take waits here. */
struct link_sender {
    int fd;                    /* not owned */
    struct link_memory memory; /* not owned */
    uint64_t area_placed;      /* requests that went by the area */
    struct buffer bytes;
    size_t start; /* bytes of it that are sent */
    bool closing;
};
void link_sender_init(struct link_sender *self, const struct link_consumer *door);
void link_sender_release(struct link_sender *self);

/*
 * Queues a request and writes what the socket takes. number is not 0. One of
 * more than LINK_STREAM_MAX bytes goes by the area or in a memfd of its own, unless
 * neither can be had or the socket is full: then it is queued like the others.
 * -> 0, -EPIPE: the worker is gone, -EMSGSIZE (parts, LINK_PAYLOAD_MAX).
 */
int link_sender_put(struct link_sender *self, enum link_request_kind kind, uint32_t count,
                    uint64_t number, const struct slice *part, size_t parts);
/* Writes on; call when the socket is writable. -> 0, -EPIPE. */
int link_sender_flush(struct link_sender *self);
/* Bytes still queued: poll for writing while it is not 0. */
size_t link_sender_queued(const struct link_sender *self);
/* No more requests: the worker sees the end after what is queued, and finishes. */
void link_sender_close(struct link_sender *self);

/* A request in the worker. Heap; parts point into it, or into the mapping of a large one. */
struct link_request {
    struct link_request *next;
    enum link_request_kind kind;
    uint32_t count;
    uint64_t number;
    int error; /* not 0: there are no parts, for its memfd could not be taken; -errno */
    struct link_parts parts;
    struct link_mapping *mapping; /* or NULL */
    size_t size;                  /* of the payload below */
    uint8_t payload[];
};
void link_request_destroy(struct link_request **self_p);

/* Answers that were given up and may still come: only those in flight, so few. */
enum { LINK_FORGOTTEN_MAX = 32 };

/*
 * The worker's reader. Whoever waits takes the reader's lock without the GIL,
 * reads one request and files it; the others sleep until something was filed.
 */
struct link_reader {
    int fd;                    /* not owned */
    struct link_memory memory; /* not owned */
    int bell;                  /* eventfd: readable while a request, but no answer, is filed */
    int watch;                 /* epoll of fd and bell: see link_reader_fd */
    pthread_mutex_t mutex;     /* the fields below; held for moments only */
    bool reading;              /* a thread is in poll/read on fd */
    _Atomic uint32_t filed;    /* futex word: counts filings and ends of reading */
    size_t sleepers;           /* threads that sleep on it */
    struct link_request *queue[LINK_REQUEST_END], **queue_end[LINK_REQUEST_END];
    uint64_t forgotten[LINK_FORGOTTEN_MAX]; /* numbers of answers to drop; 0: free */
    size_t forgotten_next;                  /* the slot to use next */
    int end;                                /* 0, or why nothing more will come */

    /* The reading thread's alone (link_incoming.c): */
    struct link_request_header header;
    size_t header_n;              /* bytes of it that are there */
    int memfd;                    /* what came with them: as link_passing_receive says */
    struct link_request *partial; /* the header is whole, the payload not yet */
    size_t payload_n;
};
int link_reader_init(struct link_reader *self, const struct link_producer *door); /* -> 0, -errno */
void link_reader_release(struct link_reader *self);

/*
 * An fd for an event loop: readable when link_reader_poll is worth a call, that
 * is when bytes have come or another thread has filed a request. Borrowed.
 */
int link_reader_fd(const struct link_reader *self);

/*
 * Waits for the next request of a kind: NEXT, SHELL, COMM, URGENT in their order
 * (number is 0), an ANSWER by its number. `wait` as in the producer: a signal
 * ends the sleep, `resume` decides. A signal that comes in the few instructions
 * before the sleep does not end it: whoever must be heard sends it again.
 * What came before the end of the socket is handed out before the error.
 * -> 0, LINK_EINTERRUPTED, LINK_ECLOSED, LINK_ECORRUPT, -errno.
 */
int link_reader_wait(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     const struct link_wait *wait, struct link_request **ret_request);

/*
 * The same without waiting. While another thread reads, that one files what
 * comes, and this one finds it when it asks again. -> 0, -EAGAIN when there is none
 * yet, the errors above.
 */
int link_reader_poll(struct link_reader *self, enum link_request_kind kind, uint64_t number,
                     struct link_request **ret_request);

/*
 * Files what has come, without waiting. -> whether the end has, too: what is filed
 * stands before it.
 */
bool link_reader_has_ended(struct link_reader *self);

/* Nobody waits for this answer any more: drops it, now or when it comes. */
void link_reader_forget(struct link_reader *self, uint64_t number);

#endif
