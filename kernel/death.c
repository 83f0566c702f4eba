/*
 * The worker's end in words. Runs in the kernel process. Owns the texts that it
 * took.
 *
 * A zombie still tells how it ended, what it used and under which limits it ran:
 * all of that is asked before it is reaped. Who sent a SIGKILL nobody tells; that
 * the OOM killer did is concluded from its counters.
 */

#include "kernel/death.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/fatal.h"
#include "kernel/number.h"
#include "kernel/stack_text.h"

enum { WORDS_MAX = 1 << 20, QUOTE_MAX = 300 };

static int64_t milliseconds(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000 + time.tv_usec / 1000;
}

void death_init(struct death *self, pid_t pid)
{
    siginfo_t info = {.si_status = 0};
    struct rusage usage = {.ru_maxrss = 0};

    CHECK(pid > 0);
    memset(self, 0, sizeof *self);
    self->pid = pid;
    self->cpu_limit.rlim_cur = self->cpu_limit.rlim_max = RLIM_INFINITY;
    self->memory_limit = self->cpu_limit;
    /* The system call and not the function, for what was used. */
    while (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT, &usage) == -1 &&
           errno == EINTR) {
    }
    self->outcome = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
    self->peak = (uint64_t)usage.ru_maxrss * 1024;
    self->cpu_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
    (void)prlimit(pid, RLIMIT_CPU, NULL, &self->cpu_limit);
    (void)prlimit(pid, RLIMIT_AS, NULL, &self->memory_limit);
}

void death_release(struct death *self)
{
    buffer_release(&self->fd2);
    buffer_release(&self->words);
}

void death_read_words(struct death *self, int side_fd)
{
    uint8_t bytes[4096];
    ssize_t n;

    while (self->words.n < WORDS_MAX && (n = read(side_fd, bytes, sizeof bytes)) > 0) {
        buffer_put(&self->words, bytes, (size_t)n);
    }
}

bool death_was_wanted(const struct death *self)
{
    return self->outcome == -SIGTERM && !self->reason;
}

/* ---- what the handlers said ------------------------------------------------------- */

static struct slice find_text(struct slice in, const char *text)
{
    const uint8_t *at = in.n > 0 ? memmem(in.p, in.n, text, strlen(text)) : NULL;

    return at ? (struct slice){at, in.n - (size_t)(at - in.p)} : (struct slice){NULL, 0};
}

static size_t line_length(struct slice text)
{
    const uint8_t *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;

    return end ? (size_t)(end - text.p) : text.n;
}

/* The numbers of a FATAL_NOTE, in its order. */
struct fault {
    uint64_t number, code; /* signal and si_code; 0: somebody sent it */
    uint64_t address, stack, sender;
};

/* -> whether the worker left a note about this very signal. */
static bool read_fault(const struct death *self, struct fault *ret_fault)
{
    struct slice note = find_text(buffer_slice(&self->words), FATAL_NOTE " ");
    char line[160];
    const char *at = line + sizeof FATAL_NOTE;

    if (note.n == 0) {
        return false;
    }
    (void)snprintf(line, sizeof line, "%.*s", (int)(line_length(note) % sizeof line),
                   (const char *)note.p);
    return number_take(&at, 10, &ret_fault->number) && number_take(&at, 10, &ret_fault->code) &&
           number_take(&at, 16, &ret_fault->address) && number_take(&at, 16, &ret_fault->stack) &&
           number_take(&at, 10, &ret_fault->sender) &&
           ret_fault->number == (uint64_t)-self->outcome;
}

/* Stacks grow down; a frame may be large, and the page above was used already. */
static bool overflows_stack(const struct fault *fault)
{
    enum { BELOW = 1 << 20, ABOVE = 4096 };

    return fault->stack > BELOW && fault->address > fault->stack - BELOW &&
           fault->address < fault->stack + ABOVE;
}

/* A line that somebody else wrote, without its colours; Python has them in its tracebacks. */
static void put_line(struct slice line, struct buffer *ret_text)
{
    for (size_t i = 0; i < line.n && i < QUOTE_MAX; i++) {
        if (line.p[i] == 0x1b) {
            while (i < line.n && line.p[i] != 'm') { /* ESC [ numbers m */
                i++;
            }
        } else {
            buffer_put_char(ret_text, (char)line.p[i]);
        }
    }
}

/* ---- the cause --------------------------------------------------------------------- */

static void put_sender(const struct death *self, const struct fault *fault, struct buffer *ret_text)
{
    if (fault->sender == (uint64_t)self->pid) {
        buffer_put_text(ret_text, ": it sent the signal to itself");
    } else if (fault->sender != 0) {
        buffer_printf(ret_text, ": process %" PRIu64 " sent the signal", fault->sender);
    }
}

/* An instruction that cannot be done. */
static void put_trap(const struct death *self, struct buffer *ret_text)
{
    struct fault fault;

    if (read_fault(self, &fault) && fault.code == 0) {
        put_sender(self, &fault, ret_text);
    }
}

/* Memory that cannot be had. */
static void put_fault(const struct death *self, struct buffer *ret_text)
{
    struct fault fault;

    if (!read_fault(self, &fault)) {
        return;
    }
    if (fault.code == 0) {
        put_sender(self, &fault, ret_text);
    } else if (fault.code == SI_KERNEL) {
        buffer_put_text(ret_text, ": an address was used that cannot exist");
    } else if (overflows_stack(&fault)) {
        buffer_put_text(ret_text, ": the C stack overflowed, by a recursion that was too deep");
    } else if (fault.address < 4096) {
        buffer_put_text(ret_text, ": a null pointer was used");
    } else {
        buffer_printf(ret_text, ": the address 0x%" PRIx64 " was used", fault.address);
    }
}

/*
 * Whoever calls abort() says why on fd 2: Python ("Fatal Python error: …", and
 * stacks below), or the C or C++ library in its last line.
 */
static void put_abort(const struct death *self, struct buffer *ret_text)
{
    static const char fatal[] = "Fatal Python error: ";
    struct slice text = buffer_slice(&self->fd2);
    struct slice line = find_text(text, fatal);
    bool is_fatal = line.n > 0;

    if (is_fatal) {
        line.n = line_length(line);
    } else {
        while (text.n > 0 && text.p[text.n - 1] == '\n') {
            text.n--;
        }
        const uint8_t *before = text.n > 0 ? memrchr(text.p, '\n', text.n) : NULL;

        line.p = before ? before + 1 : text.p;
        line.n = (size_t)(text.p + text.n - line.p);
    }
    if (line.n > 0) {
        buffer_put_text(ret_text, is_fatal ? ": " : "; its last line on fd 2 was: ");
        put_line(line, ret_text);
    }
}

/* The soft limit. The system moves it on by a second with each signal: its number is gone. */
static void put_cpu_limit(const struct death *self, struct buffer *ret_text)
{
    (void)self;
    buffer_put_text(ret_text, ": its CPU time reached its limit (RLIMIT_CPU)");
}

/* The limit is compared with a count of clock ticks, which is up to a fifth off in short runs. */
static bool used_up_cpu(const struct death *self)
{
    return self->cpu_limit.rlim_max < INT64_MAX / 1000 &&
           self->cpu_ms >= (int64_t)self->cpu_limit.rlim_max * 800;
}

static void put_killer(const struct death *self, struct buffer *ret_text)
{
    if (used_up_cpu(self)) {
        buffer_printf(ret_text, ": its CPU time reached its hard limit, %" PRIu64 " s (RLIMIT_CPU)",
                      (uint64_t)self->cpu_limit.rlim_max);
    } else if (memory_group_killed(&self->before, &self->after)) {
        buffer_put_text(ret_text, ": out of memory, Linux's OOM killer chose it; ");
        memory_group_put_words(&self->before, &self->after, ret_text);
    } else if (self->after.counts || self->after.machine_counts) {
        buffer_put_text(ret_text, ": another process sent the signal; it was not the OOM killer");
    }
}

static const struct {
    int number;
    const char *words;
    void (*put_more)(const struct death *self, struct buffer *ret_text);
} signals[] = {
    {SIGSEGV, "segmentation fault", put_fault},
    {SIGBUS, "bus error", put_fault},
    {SIGABRT, "aborted", put_abort},
    {SIGFPE, "arithmetic error", put_trap},
    {SIGILL, "illegal instruction", put_trap},
    {SIGKILL, "killed", put_killer},
    {SIGXCPU, "CPU time limit", put_cpu_limit},
};

static void put_signal(const struct death *self, struct buffer *ret_text)
{
    int number = -self->outcome;
    const char *name = sigabbrev_np(number);
    const char *words = sigdescr_np(number);

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].number == number) {
            buffer_printf(ret_text, "Python was killed by SIG%s (%s)", name, signals[i].words);
            signals[i].put_more(self, ret_text);
            return;
        }
    }
    buffer_printf(ret_text, "Python was killed by SIG%s (%s)", name ? name : "?",
                  words ? words : "unknown signal");
}

void death_put_cause(const struct death *self, struct buffer *ret_text)
{
    if (self->reason) {
        buffer_printf(ret_text, "Python was ended by the kernel: %s", self->reason);
    } else if (self->outcome < 0) {
        put_signal(self, ret_text);
    } else {
        struct slice ours = find_text(buffer_slice(&self->fd2), "einkorn: ");

        buffer_printf(ret_text, "Python ended with exit status %d", self->outcome);
        if (ours.n > 0) { /* our runner gave up, and said why */
            buffer_put_text(ret_text, "; ");
            put_line((struct slice){ours.p, line_length(ours)}, ret_text);
        } else if (self->in_cell) {
            buffer_put_text(ret_text, " in the middle of the cell, as os._exit() does");
        }
    }
}

/* ---- the details --------------------------------------------------------------------- */

/* faulthandler ends with the names of all extension modules: hundreds, with pandas. */
static struct slice without_modules(struct slice text)
{
    struct slice list = find_text(text, "\n\nExtension modules:");

    return list.n > 0 ? (struct slice){text.p, (size_t)(list.p - text.p) + 1} : text;
}

/* From our runner on outwards it is the same in every death. */
static struct slice without_runner(struct slice text)
{
    struct slice ours = find_text(text, "/_einkorn.abi3.so");
    struct slice until = {text.p, text.n - ours.n};
    const uint8_t *end = until.n > 0 ? memrchr(until.p, '\n', until.n) : NULL;

    return ours.n > 0 && end ? (struct slice){text.p, (size_t)(end - text.p)} : text;
}

static void put_repeats(size_t repeats, struct buffer *ret_text)
{
    if (repeats > 0) {
        buffer_printf(ret_text, "  … the same %zu more time%s\n", repeats, repeats > 1 ? "s" : "");
    }
}

/* The lines, with those of a recursion shown once, and an empty one behind. */
static void put_paragraph(struct slice text, struct buffer *ret_text)
{
    struct slice last = slice_of("");
    size_t repeats = 0;

    while (text.n > 0 && text.p[text.n - 1] == '\n') {
        text.n--;
    }
    if (text.n == 0) {
        return;
    }
    while (text.n > 0) {
        struct slice line = {text.p, line_length(text)};
        size_t whole = line.n < text.n ? line.n + 1 : line.n;

        bool ends_stack = whole == text.n || text.p[whole] == '\n';

        if (line.n > 0 && slice_equal(line, last)) {
            repeats++;
        } else if (!ends_stack || !stack_text_is_ours(line)) {
            put_repeats(repeats, ret_text);
            repeats = 0;
            buffer_put_slice(ret_text, line);
            buffer_put_char(ret_text, '\n');
        }
        last = line;
        text.p += whole;
        text.n -= whole;
    }
    put_repeats(repeats, ret_text);
    buffer_put_char(ret_text, '\n');
}

static void put_stacks(const struct death *self, struct buffer *ret_text)
{
    struct slice words = buffer_slice(&self->words);
    struct slice native = find_text(words, FATAL_NATIVE);
    struct slice python = {words.p, words.n - native.n};
    struct slice note = find_text(python, FATAL_NOTE " ");

    if (note.n > 0) {
        size_t line = line_length(note);

        python.p = note.p + line;
        python.n = note.n - line;
        while (python.n > 0 && *python.p == '\n') {
            python.p++;
            python.n--;
        }
    }
    put_paragraph(without_modules(python), ret_text);
    put_paragraph(without_runner(native), ret_text);
    if (words.n == 0) {
        buffer_put_text(ret_text, "There is no stack: this end leaves Python no time to write "
                                  "one.\n\n");
    }
}

static void put_time(long long ms, struct buffer *ret_text)
{
    buffer_printf(ret_text, "%lld.%03lld s", ms / 1000, ms % 1000);
}

void death_put_details(const struct death *self, struct buffer *ret_text)
{
    put_stacks(self, ret_text);
    buffer_put_text(ret_text, "Peak memory ");
    memory_put_size(self->peak, ret_text);
    buffer_put_text(ret_text, ", CPU time ");
    put_time(self->cpu_ms, ret_text);
    if (self->in_cell) {
        buffer_put_text(ret_text, ", the cell ran for ");
        put_time(self->ran_ms, ret_text);
    }
    if (self->memory_limit.rlim_cur != RLIM_INFINITY) {
        buffer_put_text(ret_text, "; its address space was limited to ");
        memory_put_size((uint64_t)self->memory_limit.rlim_cur, ret_text);
        buffer_put_text(ret_text, " (RLIMIT_AS)");
    }
    buffer_put_text(ret_text, ".");
    buffer_put_char(ret_text, '\0');
}
