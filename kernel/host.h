#ifndef EINKORN_HOST_H
#define EINKORN_HOST_H

/*
 * libeinkorn-host: drives a Python worker that speaks JSON lines (`einkorn
 * frames`), for programs that let an agent or a user run code and answer its
 * calls.
 *
 *     struct host_options options = HOST_OPTIONS_INIT;
 *     struct host_cell cell = {.code = "print(host._call('ping', []))"};
 *     struct host_result *result;
 *     struct host_error error;
 *     struct host *host;
 *
 *     options.dispatch = answer;
 *     if (host_new(&options, &host, &error) == 0) {
 *         if (host_execute(host, &cell, &result, &error) == 0) {
 *             puts(result->out.p);
 *             host_result_destroy(&result);
 *         }
 *         host_destroy(&host);
 *     }
 *
 * Threads: every function may be called from any thread, and no thread has to
 * outlive its call. One request runs at a time: host_execute and host_restart
 * wait for their turn, host_inspect does not (HOST_EBUSY). host_interrupt,
 * host_kill, host_is_alive and what only tells something never wait for a
 * request; they are for other threads, and for the callbacks. A callback runs on
 * the thread that called host_execute (or host_inspect); from there host_execute,
 * host_inspect and host_restart give HOST_EBUSY at once, and host_shutdown and
 * host_destroy must not be called. host_destroy is for the last user.
 *
 * JSON goes in and out as text, so that no JSON library is part of this
 * interface and every number arrives as Python wrote it: integers of any size,
 * and NaN, Infinity and -Infinity, which Python's json writes and reads. Texts
 * are UTF-8. What a worker sends is checked before anybody sees it.
 *
 * Functions that can fail return 0 or a negative enum host_code, leave what
 * they would have returned untouched, and say why in *reterr (NULL: not
 * wanted). Memory that cannot be had ends the process, as in most programs on
 * Linux; what a worker sends is bounded, so it cannot bring that about. The
 * library never writes to stdout or stderr, and changes no signal's disposition.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOST_API __attribute__((visibility("default")))

/* ---- errors ------------------------------------------------------------------- */

enum host_code {
    HOST_EBUSY = -1,     /* KernelBusyError: another request runs */
    HOST_EVALUE = -2,    /* ValueError: an argument is out of its range */
    HOST_ETYPE = -3,     /* TypeError: an argument is not of its type */
    HOST_ESTART = -4,    /* RuntimeError: no worker, or its handshake failed */
    HOST_EDEAD = -5,     /* RuntimeError: the worker has ended, or was never there */
    HOST_EPROTOCOL = -6, /* RuntimeError: it sent what is no frame; it has been killed */
    HOST_EDEADLINE = -7, /* TimeoutError: it took too long; it has been killed */
};

struct host_error {
    int code;        /* enum host_code */
    int cause;       /* errno of what the transport could not do; 0: nothing of the kind */
    char text[4096]; /* a sentence; after a death also the end of the worker's stderr */
};

/* The name that Python programs know the code by: "KernelBusyError"; static. */
HOST_API const char *host_error_kind(int code);

/* A text of n bytes; there is a NUL behind them, and there may be some in it. p NULL: none. */
struct host_text {
    const char *p;
    size_t n;
};

/* ---- what the worker asks of the host ----------------------------------------- */

struct host_call {
    struct host_text method;
    struct host_text args;    /* JSON, an array in nearly every case: as the worker wrote it */
    struct host_text cell_id; /* of the cell that runs; p NULL: a thread's call outside cells */
    const char *generation;   /* host_authorization_generation of the worker that asks */
};

/*
 * Answers one call. Exactly one of these for each; a second replaces the
 * first, and without one the answer is null.
 *
 *     host_answer_data    a JSON value (as text; n 0: up to its NUL); an object with the single key
 *                         "error" is a soft failure and becomes the error
 *     host_answer_error   the text of an error: RuntimeError `host.<method> error: <text>`
 *                         in the cell
 *
 * Both copy. Data that is no JSON becomes an error that says so. They are for
 * the callback that got the answer, while it runs.
 */
struct host_answer;
HOST_API void host_answer_data(struct host_answer *self, const char *json, size_t n);
HOST_API void host_answer_error(struct host_answer *self, const char *text);

typedef void host_dispatch_fn(void *arg, const struct host_call *call, struct host_answer *answer);

/* ---- transports ---------------------------------------------------------------- */

/*
 * A way to a worker other than the pipes of one that this library spawns: a
 * socket, a container, a test. Functions get `arg`. All but the last three must
 * be there; alive, interrupt and kill come from any thread, also while another
 * is inside read_line or write_line, and must not block.
 */
struct host_transport {
    void *arg;
    /* Sends a line; the last of its n bytes is the newline. -> 0, -errno. */
    int (*write_line)(void *arg, const char *line, size_t n);
    /*
     * Waits for a line and lends it, without its newline, until the next call of
     * read_line, write_line or close. -> 1; 0: there are no more; -errno (-EMSGSIZE:
     * longer than the host's line_limit).
     */
    int (*read_line)(void *arg, const char **ret_line, size_t *ret_n);
    bool (*alive)(void *arg);
    bool (*interrupt)(void *arg); /* -> true: the worker has been sent its SIGINT */
    void (*kill)(void *arg);      /* the worker and what it started; read_line must return */
    /* Lets go of everything, arg too; `graceful`: a shutdown frame has been sent, wait for it. */
    void (*close)(void *arg, bool graceful);

    pid_t (*pid)(void *arg);                                   /* NULL: it has none */
    size_t (*stderr_tail)(void *arg, char *text, size_t size); /* last bytes; NULL: none kept */
    bool (*ended)(void *arg, int *ret_status); /* how it ended, as of waitpid; NULL: not known */
};

/* ---- one worker ------------------------------------------------------------------ */

struct host;

struct host_options {
    size_t size;              /* sizeof (struct host_options): HOST_OPTIONS_INIT sets it */
    const char *einkorn;      /* the program; NULL: `einkorn` on PATH */
    const char *python;       /* interpreter of the cells; NULL: the python3 that leads PATH */
    const char *const *argv;  /* another worker's command, e.g. R's; `einkorn` is then not used, and
                               * the directory of `python` does not lead the worker's PATH */
    const char *cwd;          /* the workspace; NULL: the current directory */
    const char *mode;         /* OPENAI4S_KERNEL_MODE; NULL: "repl" */
    const char *env_root;     /* prefix of a selected conda environment; NULL: none */
    const char *env_name;     /* its name; NULL: the last part of env_root */
    const char *repo_root;    /* PYTHONPATH of the worker; NULL: none */
    char *const *environment; /* what the allowlist picks from; NULL: environ */

    host_dispatch_fn *dispatch; /* NULL: every call gets `no host dispatcher configured` */
    void *dispatch_arg;

    /* NULL: spawn. Else: makes the transport of each generation. -> 0, -errno. */
    int (*connect)(void *arg, struct host_transport *ret_transport);
    void *connect_arg;
    const char *generation; /* with connect: what the worker calls its generation; NULL: unknown,
                             * and bash capabilities are not compared with it */

    unsigned ready_ms;    /* for the handshake; 0: 15,000 */
    unsigned shutdown_ms; /* for a graceful end; 0: 5,000 */
    size_t line_limit;    /* longest line that is read, bytes; 0: 26,000,000 */
};
#define HOST_OPTIONS_INIT                                                                          \
    {                                                                                              \
        .size = sizeof(struct host_options)                                                        \
    }

/*
 * Starts a worker and shakes hands with it; the options are copied (not what
 * dispatch_arg and connect_arg point to). A spawned worker leads a session of
 * its own, starts with default signal dispositions, has the environment of
 * host_environment_new, and ends when the host does, by the end of its input.
 * -> 0; HOST_ESTART, HOST_EDEADLINE, HOST_EVALUE.
 */
HOST_API int host_new(const struct host_options *options, struct host **ret_host,
                      struct host_error *reterr);

/* host_shutdown, then frees. NULL and pointers to NULL are fine. */
HOST_API void host_destroy(struct host **self_p);

/*
 * Asks the worker to end, waits shutdown_ms, then kills the whole group. A
 * request that still runs then ends with HOST_EDEAD; after it every request does.
 */
HOST_API void host_shutdown(struct host *self);

/*
 * Kills the worker's group and starts another with the next generation and an
 * empty namespace. A request that runs ends with HOST_EDEAD. Also for a worker
 * that died or was killed; not after host_shutdown. On failure there is no
 * worker, and another host_restart may be tried. -> as host_new.
 */
HOST_API int host_restart(struct host *self, struct host_error *reterr);

/* Sends the worker's main thread a SIGINT. -> true: sent. It ends a cell, never the worker. */
HOST_API bool host_interrupt(struct host *self);

/* SIGKILL for the worker and every process of its group. A request ends with HOST_EDEAD. */
HOST_API void host_kill(struct host *self);

HOST_API bool host_is_alive(struct host *self);
HOST_API pid_t host_pid(struct host *self);           /* 0: there is none, or it is not known */
HOST_API unsigned host_generation(struct host *self); /* 0, then one more for each restart */

/* ---- cells ------------------------------------------------------------------------ */

/* Text of the running cell's stdout, as it comes: at most 64,000 characters and a marker. */
typedef void host_chunk_fn(void *arg, const char *text, size_t n);

struct host_cell {
    const char *code;     /* UTF-8; what is not becomes U+FFFD */
    size_t code_n;        /* 0: up to its NUL */
    const char *id;       /* NULL: one is made, unique for this host */
    const char *origin;   /* NULL: "agent"; also user, system, recovery, sidecar_recovery */
    host_chunk_fn *chunk; /* NULL: not wanted */
    void *arg;
    unsigned limit_ms; /* after that the worker is killed (HOST_EDEADLINE); 0: no limit */
};

struct host_result {
    struct host_text json; /* the response frame, and "cwd" in it */
    struct host_text id, out, err;
    struct host_text error; /* p NULL: the cell ended well */
    bool interrupted;
    long error_lineno;                          /* 0: none */
    struct host_text error_call;                /* p NULL: none */
    struct host_text guards, files_read, usage; /* JSON; p NULL: the frame lacks it */
    struct host_text cwd;                       /* the workspace, absolute */
    struct host_text skill_loads; /* JSON: a list of what skill loaders have run; p NULL: nothing */
};

/*
 * Runs a cell. An error in the cell is a result, not a failure of this
 * function. Chunks that belong to another cell are dropped and counted.
 * -> 0: the result is the caller's; HOST_EDEAD, HOST_EDEADLINE, HOST_EPROTOCOL,
 * HOST_EBUSY (only from a callback), HOST_EVALUE.
 */
HOST_API int host_execute(struct host *self, const struct host_cell *cell,
                          struct host_result **ret_result, struct host_error *reterr);
HOST_API void host_result_destroy(struct host_result **self_p);

/*
 * What a skill loader of the host's (code that a cell of origin system or recovery
 * has registered) runs in a worker comes as signed events. `skill_loads`, which is
 * "skill_sidecar_loads" of the json too, has those of the cell: each that says what
 * has run, as it came, and {"event":"invalid_sidecar_event"} for what is not as it must be.
 *
 * -> true: in this generation nothing was invalid, of another cell, unsigned, or announced and
 * not run by the end of its cell. A host that makes a session anew from recorded sidecars must not
 * where this is false. Where it is true that proves nothing: cells run in the same process as
 * what signs, and can find the key.
 */
HOST_API bool host_is_recoverable(struct host *self);

/* Chunks dropped because their cell was not the one that ran, since host_new. */
HOST_API size_t host_stale_chunks(struct host *self);

/* ---- variables ---------------------------------------------------------------------- */

enum { HOST_INSPECT_DEFAULT = 200, HOST_INSPECT_MAX = 500 };

struct host_variables {
    struct host_text json;      /* the variables_response frame */
    struct host_text variables; /* JSON: a list of objects */
    bool truncated;
    long limit;
    struct host_text error; /* p NULL: none; `variable inspection failed closed` */
};

/*
 * Looks at the namespace without running any code of it. `limit` is checked
 * here (HOST_EVALUE, `between 1 and 500`), and while a cell runs the answer is
 * HOST_EBUSY at once, with nothing written or read. -> 0; the others as host_execute.
 */
HOST_API int host_inspect(struct host *self, int limit, struct host_variables **ret_variables,
                          struct host_error *reterr);
HOST_API void host_variables_destroy(struct host_variables **self_p);

/*
 * A limit that came as JSON from a client of the host's: 1 to 500, written as
 * an integer. -> 0; HOST_ETYPE: true, 5.0, "5"; HOST_EVALUE: out of range.
 */
HOST_API int host_inspect_limit(const char *json, int *ret_limit, struct host_error *reterr);

/* ---- what is known about a worker ------------------------------------------------------ */

/* The worker's last 32 log messages, up to 2,000 characters each, oldest first; NULL-terminated.
 * One block of memory: free() it. */
HOST_API char **host_log_tail_dup(struct host *self);

/* Up to the last 64 KiB of the worker's stderr, with a NUL behind them. free() it. */
HOST_API char *host_stderr_tail_dup(struct host *self, size_t *ret_n);

/* The name of this spawn: new for each, known to the worker as OPENAI4S_KERNEL_GENERATION, and
 * what its bash capabilities must name. "": no worker, or not known. free() it. */
HOST_API char *host_authorization_generation(struct host *self);

struct host_call_entry {
    char method[64];  /* `bash` for a command that ran (record_bash_result) */
    char cell_id[64]; /* cut, as the method is; "": none ran */
    bool failed;
    double seconds; /* in the dispatcher */
};

/* The last 256 calls, oldest first, lineage calls (prov_…) left out: each cell makes some. free()
 * it. */
HOST_API struct host_call_entry *host_call_log_dup(struct host *self, size_t *ret_n);

/* ---- parts that are of use alone --------------------------------------------------------- */

struct host_environment {
    char *const *source; /* NULL: environ. Not changed. */
    const char *mode;    /* NULL: "repl" */
    const char *cwd;     /* NULL: the current directory */
    const char *env_root, *env_name;
    const char
        *interpreter; /* its directory leads PATH if it is absolute and there is no env_root */
    const char *generation; /* NULL: none */
    const char *repo_root;  /* NULL: no PYTHONPATH */
};

/*
 * The environment of a worker: built anew from a list of names that may pass,
 * so that no key, token, proxy or LD_ variable of the host gets into a cell.
 * NULL-terminated, one block of memory: free() it.
 */
HOST_API char **host_environment_new(const struct host_environment *of);

/* tgkill: a signal for exactly the main thread of a process. -> true: sent. */
HOST_API bool host_signal_main_thread(pid_t pid, int signal);

/*
 * The transport of a spawned worker alone: pipes on its fds 0, 1 and 2, its own
 * session, default signals. argv[0] is looked for on PATH. -> 0, -errno.
 */
struct host_pipe_options {
    const char *const *argv;
    char *const *environment;
    const char *cwd;      /* NULL: the current directory */
    unsigned shutdown_ms; /* as in host_options */
    size_t line_limit;
};
HOST_API int host_pipe_transport(const struct host_pipe_options *options,
                                 struct host_transport *ret_transport);

#ifdef __cplusplus
}
#endif

#endif
