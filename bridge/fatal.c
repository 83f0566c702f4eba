/*
 * Signals that end the worker, see fatal.h. Worker, any thread; the handlers run
 * on the stack that faulthandler made for its own.
 *
 * Only async-signal-safe calls, with one exception: glibc's backtrace() is safe
 * once libgcc is loaded, unless it is old and the loader's lock was held. So the
 * native stack comes last, after what is surely safe, and under an alarm: a
 * handler that hangs would make a crash into a kernel that is stuck.
 *
 * The way of a signal: note() says what the system knows and steps aside, the
 * instruction runs again (or the signal is raised again, if it was sent),
 * faulthandler writes the Python stacks and raises it once more, and native()
 * comes, which ends the process by the very signal.
 */

#include "bridge/fatal.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES_MAX = 48, ALARM_S = 2 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct {
    int side;
    pid_t worker;                     /* a forked child's crash is not ours to tell */
    struct sigaction behind[SIGNALS]; /* faulthandler's */
    uintptr_t fault;                  /* the instruction that did it; 0: not known */
    int number;                       /* the signal */
} fatal;

/* Where the thread stood: instruction and stack pointer; 0 where we cannot tell. */
static void read_context(const void *context, uintptr_t *ret_instruction, uintptr_t *ret_stack)
{
    const ucontext_t *user = context;
#if defined __x86_64__
    *ret_instruction = (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
    *ret_stack = (uintptr_t)user->uc_mcontext.gregs[REG_RSP];
#elif defined __aarch64__
    *ret_instruction = (uintptr_t)user->uc_mcontext.pc;
    *ret_stack = (uintptr_t)user->uc_mcontext.sp;
#else
    (void)user;
    *ret_instruction = *ret_stack = 0;
#endif
}

static char *put_number(char *at, uintptr_t value, unsigned base)
{
    char digits[24];
    size_t n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    *at++ = ' ';
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

static void write_note(int number, const siginfo_t *info, uintptr_t stack)
{
    char line[160] = FATAL_NOTE;
    char *at = line + sizeof FATAL_NOTE - 1;
    bool sent = info->si_code <= 0;
    at = put_number(at, (uintptr_t)number, 10);
    at = put_number(at, sent ? 0 : (uintptr_t)info->si_code, 10);
    at = put_number(at, sent ? 0 : (uintptr_t)info->si_addr, 16);
    at = put_number(at, stack, 16);
    at = put_number(at, sent ? (uintptr_t)info->si_pid : 0, 10);
    *at++ = '\n';
    ssize_t ignored = write(fatal.side, line, (size_t)(at - line));
    (void)ignored;
}

/* The first of the two. */
static void note(int number, siginfo_t *info, void *context)
{
    uintptr_t stack = 0;
    if (getpid() == fatal.worker) {
        read_context(context, &fatal.fault, &stack);
        fatal.number = number;
        write_note(number, info, stack);
    }
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) {
            (void)sigaction(number, &fatal.behind[i], NULL);
        }
    }
    if (info->si_code <= 0) {
        (void)raise(number); /* nothing would do it again by itself */
    }
}

static void die(int number)
{
    sigset_t set;
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(number);
    _exit(128 + number);
}

static void give_up(int alarm_signal)
{
    (void)alarm_signal;
    die(fatal.number);
}

static void set_alarm(void)
{
    struct sigaction action = {.sa_handler = give_up};
    sigset_t set;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGALRM);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)alarm(ALARM_S);
}

/* The second. The frames of the handlers themselves are left out. */
static void native(int number, siginfo_t *info, void *context)
{
    void *frame[FRAMES_MAX];
    (void)info;
    if (getpid() == fatal.worker) {
        uintptr_t stack = 0;
        if (fatal.fault == 0) { /* Py_FatalError switches faulthandler off, and note() with it */
            read_context(context, &fatal.fault, &stack);
        }
        fatal.number = number;
        set_alarm();
        int n = backtrace(frame, FRAMES_MAX);
        int first = 0;
        for (int i = 0; i < n && fatal.fault != 0; i++) {
            if ((uintptr_t)frame[i] == fatal.fault) {
                first = i;
            }
        }
        ssize_t ignored = write(fatal.side, FATAL_NATIVE, sizeof FATAL_NATIVE - 1);
        (void)ignored;
        backtrace_symbols_fd(frame + first, n - first, fatal.side);
    }
    die(number);
}

void fatal_install_behind(int side_fd)
{
    struct sigaction action = {.sa_sigaction = native,
                               .sa_flags = SA_NODEFER | SA_ONSTACK | SA_SIGINFO};
    fatal.side = side_fd;
    fatal.worker = getpid();
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
}

void fatal_install_before(void)
{
    struct sigaction action = {.sa_sigaction = note,
                               .sa_flags = SA_NODEFER | SA_ONSTACK | SA_SIGINFO};
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)sigaction(signals[i], &action, &fatal.behind[i]);
    }
}

void fatal_prepare(void)
{
    void *frame[1];
    (void)backtrace(frame, 1);
}
