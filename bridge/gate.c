/*
 * The gate: see gate.h. Whose a SIGINT is, its siginfo says:
 *
 *   our own process        user code meant it (raise_signal, os.kill): it passes
 *   the kernel process     the shared page has the request's number and a serial
 *   anybody else           (VS Code signals every descendant itself) it counts
 *                          as an interrupt of the request that runs
 *
 * The kernel sends its signal again until the serial is acknowledged: one that
 * comes between a check for signals and a system call does not end that call.
 * So it is Python's handler that acknowledges (gate_python.c), not the signal's
 * arrival. Behind a handler of the user's own, arrival must do. What stands behind
 * the gate, and how the gate got before it, is the matter of gate_stand.c.
 *
 * A signal that another thread was given goes on to the main thread: only there
 * does it end a system call that the cell waits in.
 *
 * Between requests, tasks of the event loop run. One that blocks keeps the next
 * request waiting, so an interrupt of that request passes then too; it still
 * ends the request as well, for it is not acknowledged.
 *
 * Without a kernel process (py_gate_open_single) there is no number, no serial and
 * nobody who sends again: any signal is for the request that runs, once, and a timer
 * of ours reminds the main thread until Python has heard it.
 *
 * The handler runs on any thread at any moment: atomics and async-signal-safe
 * calls only. All else is for the main thread. A forked child has no page.
 */

#include "bridge/gate.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bridge/forked.h"
#include "bridge/gate_python.h"
#include "bridge/gate_stand.h"

/* A stranger's signal and another of this age are one interrupt. */
enum { MERGE_NS = 100 * 1000 * 1000, REMINDER_NS = 100 * 1000 * 1000 };

static struct {
    struct link_page *page;
    pid_t kernel;
    _Atomic bool armed;
    _Atomic bool idle;               /* the event loop turns between requests */
    _Atomic uint64_t last;           /* the last request that began */
    _Atomic uint64_t idle_raised;    /* serial of the last interrupt that hit an idle task */
    _Atomic uint64_t taken;          /* serial of the last interrupt that passed */
    _Atomic uint64_t owed;           /* request that a stranger's signal found not armed */
    _Atomic int64_t passed;          /* when one passed, ns; 0: none in this request */
    _Atomic int64_t stranger_passed; /* the same, a stranger's */
    bool single;                     /* there is no kernel process */
    timer_t reminder;                /* single: SIGINT to the main thread */
    _Atomic bool heard;              /* single: Python's handler knows of what passed */
} gate;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_recent(const _Atomic int64_t *when, int64_t now)
{
    int64_t then = atomic_load(when);
    return then != 0 && now - then < MERGE_NS;
}

/* Reminds of an interrupt from now on, or no more. */
static void gate_remind(bool on)
{
    const long ns = on ? REMINDER_NS : 0;
    const struct itimerspec every = {.it_interval = {0, ns}, .it_value = {0, ns}};
    (void)timer_settime(gate.reminder, 0, &every, NULL);
}

void gate_acknowledge(void)
{
    if (gate.single) {
        if (!atomic_exchange(&gate.heard, true)) {
            gate_remind(false);
        }
        return;
    }
    uint64_t serial = atomic_load(&gate.taken);
    if (serial != 0) {
        atomic_store(&gate.page->interrupt_acknowledged, serial);
    }
}

/* The kernel asks to interrupt this request and has not been heard yet. -> 0: no, or the serial. */
static uint64_t gate_asked(uint64_t request)
{
    uint64_t serial = atomic_load(&gate.page->interrupt_serial);
    return atomic_load(&gate.page->interrupt_number) == request &&
                   atomic_load(&gate.page->interrupt_acknowledged) != serial
               ? serial
               : 0;
}

/* The kernel's interrupt: does it pass? One that a stranger has just brought is only answered. */
static bool gate_take_asked(uint64_t serial)
{
    int64_t now = now_ns();
    bool passes = !is_recent(&gate.stranger_passed, now);
    atomic_store(&gate.taken, serial);
    if (!passes || !gate_python_acknowledges()) {
        gate_acknowledge();
    }
    if (passes) {
        atomic_store(&gate.passed, now);
    }
    return passes;
}

static bool gate_take_stranger(void)
{
    int64_t now = now_ns();
    if (is_recent(&gate.passed, now)) {
        return false;
    }
    atomic_store(&gate.passed, now);
    atomic_store(&gate.stranger_passed, now);
    return true;
}

/*
 * VS Code signals us and then the kernel. By that time this request may have ended
 * of it; the kernel looks here so that the next one does not end of it as well.
 */
static bool gate_passes_stranger(uint64_t request)
{
    int64_t now = now_ns();
    if (is_recent(&gate.passed, now)) {
        return false;
    }
    atomic_store(&gate.page->stranger_request, request);
    atomic_store(&gate.page->stranger_ns, now);
    atomic_fetch_add(&gate.page->stranger_serial, 1);
    if (!atomic_load(&gate.armed)) {
        atomic_store(&gate.owed, request);
        return false;
    }
    return gate_take_stranger();
}

/* The kernel wants to interrupt a request that has not begun: what it waits for is in the way. */
static bool gate_passes_idle(void)
{
    uint64_t serial = atomic_load(&gate.page->interrupt_serial);
    bool passes = atomic_load(&gate.idle) &&
                  atomic_load(&gate.page->interrupt_number) > atomic_load(&gate.last) &&
                  atomic_load(&gate.page->interrupt_acknowledged) != serial &&
                  atomic_load(&gate.idle_raised) != serial;
    if (passes && !gate_python_acknowledges()) {
        atomic_store(&gate.idle_raised, serial);
    }
    return passes;
}

static pid_t gate_sender(const siginfo_t *info)
{
    return info->si_code == SI_KERNEL ? 0 : info->si_pid;
}

/* ---- without a kernel process --------------------------------------------------------- */

/* The request's one interrupt? */
static bool gate_take_single(void)
{
    if (atomic_exchange(&gate.passed, 1) != 0) {
        return false;
    }
    atomic_store(&gate.heard, !gate_python_acknowledges());
    if (!atomic_load(&gate.heard)) {
        gate_remind(true);
    }
    return true;
}

static bool gate_passes_single(bool reminds)
{
    uint64_t request = atomic_load(&gate.page->running);
    if (reminds) {
        return request != 0 && !atomic_load(&gate.heard);
    }
    if (request != 0 && !atomic_load(&gate.armed)) {
        atomic_store(&gate.owed, request);
        return false;
    }
    return request != 0 && gate_take_single();
}

/* ---- the handler ------------------------------------------------------------------------ */

static bool gate_passes(const siginfo_t *info)
{
    pid_t sender = gate_sender(info);
    if (forked_is_child()) {
        return true;
    }
    if (gate.single) {
        return gate_passes_single(info->si_code == SI_TIMER);
    }
    if (sender == getpid()) {
        return true;
    }
    uint64_t request = atomic_load(&gate.page->running);
    if (request == 0) {
        return sender == gate.kernel && gate_passes_idle();
    }
    if (sender == gate.kernel) { /* not armed: gate_arm looks at the page itself */
        uint64_t serial = atomic_load(&gate.armed) ? gate_asked(request) : 0;
        return serial != 0 && gate_take_asked(serial);
    }
    return gate_passes_stranger(request);
}

/*
 * To the main thread, with the sender that it came from; a thread may not say that
 * another process sent it by kill, but by sigqueue it may. -> false: this is the
 * main thread, or the system has no such call.
 */
static bool gate_hands_on(const siginfo_t *info)
{
    pid_t main_thread = getpid();
    siginfo_t copy = *info;
    copy.si_code = SI_QUEUE;
    copy.si_pid = gate_sender(info);
    return !forked_is_child() && syscall(SYS_gettid) != main_thread &&
           syscall(SYS_rt_tgsigqueueinfo, main_thread, main_thread, SIGINT, &copy) == 0;
}

void gate_on_sigint(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    if (!gate_hands_on(info) && gate_passes(info)) {
        gate_forward(number, info, context);
    }
    errno = saved_errno;
}

/* ---- for the runner ------------------------------------------------------------------- */

int py_gate_open(struct link_page *page, pid_t kernel)
{
    gate.page = page;
    gate.kernel = kernel;
    if (py_gate_python_open() != 0) {
        return -1;
    }
    gate_stand();
    gate_mask(SIG_UNBLOCK);
    return 0;
}

int py_gate_open_single(void)
{
    static struct link_page page; /* nobody shares it */
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGINT};
    event._sigev_un._tid = getpid();
    gate.single = true;
    if (timer_create(CLOCK_MONOTONIC, &event, &gate.reminder) != 0) {
        (void)PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return py_gate_open(&page, 0);
}

int py_gate_request(uint64_t number)
{
    atomic_store(&gate.armed, false);
    atomic_store(&gate.owed, 0);
    atomic_store(&gate.passed, 0);
    atomic_store(&gate.stranger_passed, 0);
    gate_python_request();
    if (gate.single) {
        gate_acknowledge();
    }
    if (number != 0) {
        atomic_store(&gate.last, number);
    }
    atomic_store(&gate.page->running, number);
    return number == 0 || gate.single ? 0 /* single: py_gate_set_again follows */
                                      : py_gate_stand_for_request();
}

void gate_repeat(void)
{
    if (gate.single) {
        PyErr_SetInterrupt(); /* behind the gate, which lets only one through */
    } else {
        (void)raise(SIGINT);
    }
}

/* An interrupt that has not come through is brought by a signal of our own, which passes. */
static void gate_bring(uint64_t request, bool owed)
{
    if (gate.single) {
        if (owed && gate_take_single()) {
            gate_repeat();
        }
        return;
    }
    uint64_t serial = gate_asked(request);
    if ((serial != 0 && gate_take_asked(serial)) || (owed && gate_take_stranger())) {
        (void)raise(SIGINT);
    }
}

void gate_note_raised(void)
{
    if (atomic_load(&gate.page->running) == 0) {
        atomic_store(&gate.idle_raised, atomic_load(&gate.page->interrupt_serial));
    }
}

bool gate_is_armed(void)
{
    return atomic_load(&gate.armed) && !forked_is_child();
}

void gate_idle(bool idle)
{
    atomic_store(&gate.idle, idle);
}

void gate_arm(void)
{
    uint64_t request = atomic_load(&gate.page->running);
    atomic_store(&gate.armed, true);
    gate_bring(request, atomic_exchange(&gate.owed, 0) == request);
}

/* os.system() ignores SIGINT while its child runs: what came then was not heard. */
int py_gate_disarm(void)
{
    if (!forked_is_child()) {
        gate_bring(atomic_load(&gate.page->running), false);
    }
    atomic_store(&gate.armed, false);
    return PyErr_CheckSignals();
}
