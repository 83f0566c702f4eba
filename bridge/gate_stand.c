/*
 * Puts the gate before the C handler of SIGINT that is there, and remembers that one.
 * Worker; gate_forward and gate_python_acknowledges are called by the signal's handler,
 * on any thread at any moment, so what they look at is atomic. All else: main thread.
 * Owns what is known of the handler behind the gate.
 *
 * It must be looked at again and again, for CPython's signal.signal, asyncio.run and C
 * libraries install handlers of their own. Python's way goes by gate_python.c, which puts
 * the gate back at once. Handlers that C code installs displace the gate until the next
 * request begins.
 */

#include "bridge/gate_stand.h"

#include "bridge/gate.h"
#include "bridge/gate_python.h"

static struct {
    _Atomic bool acknowledges;  /* it is default_int_handler's */
    void (*_Atomic plain)(int); /* it: one of these */
    void (*_Atomic with_info)(int, siginfo_t *, void *);
    void (*by_default)(int); /* CPython's C handler, as py_gate_set_again found it */
} behind;

void gate_forward(int number, siginfo_t *info, void *context)
{
    void (*with_info)(int, siginfo_t *, void *) = atomic_load(&behind.with_info);
    void (*plain)(int) = atomic_load(&behind.plain);
    if (with_info != NULL) {
        with_info(number, info, context);
    } else if (plain != NULL) {
        plain(number);
    }
}

void gate_behind(bool python_acknowledges)
{
    atomic_store(&behind.acknowledges, python_acknowledges);
}

bool gate_python_acknowledges(void)
{
    return atomic_load(&behind.acknowledges);
}

void gate_mask(int how)
{
    sigset_t interrupt;
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(how, &interrupt, NULL);
}

static bool is_gate(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == gate_on_sigint;
}

/* Puts the gate before the handler `now`. SIG_DFL and SIG_IGN are no handlers. */
static void gate_stand_before(const struct sigaction *now)
{
    bool with_info = (now->sa_flags & SA_SIGINFO) != 0;
    if (is_gate(now) ||
        (!with_info && (now->sa_handler == SIG_DFL || now->sa_handler == SIG_IGN))) {
        return;
    }
    atomic_store(&behind.with_info, with_info ? now->sa_sigaction : NULL);
    atomic_store(&behind.plain, with_info ? NULL : now->sa_handler);
    struct sigaction action = {.sa_sigaction = gate_on_sigint, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigaction(SIGINT, &action, NULL);
}

void gate_stand(void)
{
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0) {
        gate_stand_before(&now);
    }
}

int py_gate_stand_for_request(void)
{
    struct sigaction now;
    int error = 0;
    if (sigaction(SIGINT, NULL, &now) != 0) {
        return 0;
    }
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
        error = py_gate_set_default(); /* a cell must be interruptible */
        gate_stand();
    } else {
        gate_stand_before(&now);
    }
    return error;
}

/*
 * All that py_gate_set_again would do: the gate with its flags, Python's default behind it
 * (gate_python.c has noted that), not blocked.
 */
static bool gate_is_set(void)
{
    const unsigned flags = SA_SIGINFO | SA_ONSTACK;
    const unsigned others = SA_RESTART | SA_RESETHAND | SA_NODEFER;
    struct sigaction now;
    sigset_t blocked;
    return behind.by_default != NULL && atomic_load(&behind.acknowledges) &&
           atomic_load(&behind.plain) == behind.by_default &&
           atomic_load(&behind.with_info) == NULL && sigaction(SIGINT, NULL, &now) == 0 &&
           is_gate(&now) && ((unsigned)now.sa_flags & (flags | others)) == flags &&
           pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGINT);
}

int py_gate_set_again(void)
{
    if (gate_is_set()) {
        return 0;
    }
    gate_mask(SIG_BLOCK); /* CPython's handler stands alone for a moment */
    int error = py_gate_set_default();
    gate_stand();
    behind.by_default = error == 0 ? atomic_load(&behind.plain) : NULL;
    gate_mask(SIG_UNBLOCK);
    return error;
}
