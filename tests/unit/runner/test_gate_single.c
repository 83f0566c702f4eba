/* bridge/gate.c in a worker that no kernel process speaks for: one signal, one cell. */

#include "bridge/gate.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "interpreter.h"

static void start(void)
{
    interpreter_start();
    cr_assert(py_gate_open_single() == 0);
}

TestSuite(gate_single, .init = start);

/* Delivered when this returns, and Python has not looked yet. */
static void signal_now(void)
{
    cr_assert(kill(getpid(), SIGINT) == 0);
}

static bool py_raises(void)
{
    bool raised = PyErr_CheckSignals() != 0;
    if (raised) {
        cr_assert(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
    }
    PyErr_Clear();
    return raised;
}

static void begin(uint64_t request)
{
    cr_assert(py_gate_request(request) == 0 && py_gate_set_again() == 0);
}

Test(gate_single, idle_it_is_swallowed_and_not_owed)
{
    signal_now();
    cr_expect(not(py_raises()));
    begin(1);
    gate_arm();
    cr_expect(not(py_raises()));
}

Test(gate_single, before_user_code_it_is_owed)
{
    begin(1);
    signal_now();
    cr_expect(not(py_raises()));
    gate_arm();
    cr_expect(py_raises());
    cr_expect(gate_was_raised() == true);
}

Test(gate_single, one_that_is_owed_is_not_owed_to_the_next)
{
    begin(1);
    signal_now();
    begin(2);
    gate_arm();
    cr_expect(not(py_raises()));
    cr_expect(not(gate_was_raised()));
}

Test(gate_single, only_the_first_one_counts)
{
    begin(1);
    gate_arm();
    for (int i = 0; i < 3; i++) {
        signal_now();
        cr_expect(eq(int, py_raises(), i == 0));
    }
    cr_expect(eq(int, py_gate_disarm(), 0));
    begin(2);
    gate_arm();
    signal_now();
    cr_expect(py_raises());
}

Test(gate_single, one_that_python_has_not_heard_ends_the_wait_that_comes_after_it)
{
    begin(1);
    gate_arm();
    signal_now(); /* between Python's look and the system call */
    cr_expect(eq(int, poll(NULL, 0, 20000), -1));
    cr_expect(eq(int, errno, EINTR));
    cr_expect(py_raises());
    cr_expect(eq(int, poll(NULL, 0, 400), 0), "heard: nobody reminds any more");
}

Test(gate_single, it_is_not_reminded_of_behind_a_handler_of_the_users)
{
    begin(1);
    cr_assert(py_exec("import signal\nsignal.signal(signal.SIGINT, lambda *a: None)\n"));
    gate_arm();
    signal_now();
    cr_expect(eq(int, poll(NULL, 0, 400), 0));
    cr_expect(not(py_raises()));
}

Test(gate_single, the_end_of_the_request_is_the_end_of_the_reminders)
{
    begin(1);
    gate_arm();
    signal_now();
    cr_expect(eq(int, py_gate_disarm(), -1), "what passed comes out");
    PyErr_Clear();
    cr_assert(py_gate_request(0) == 0);
    cr_expect(eq(int, poll(NULL, 0, 400), 0));
}

Test(gate_single, whatever_stands_there_the_default_comes_back)
{
    static const char *const spoil[] = {
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "signal.signal(signal.SIGINT, lambda *a: None)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
    };
    cr_assert(py_exec("import signal\n"));
    for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
        cr_assert(py_exec(spoil[i]));
        begin(i + 1);
        gate_arm();
        signal_now();
        cr_expect(py_raises(), "%s", spoil[i]);
    }
}

/* The signal is blocked until the wait has begun, which it ends. */
static void *wait_for_it(void *unused)
{
    const struct timespec long_time = {.tv_sec = 20};
    sigset_t none;
    (void)sigemptyset(&none);
    cr_expect(eq(int, ppoll(NULL, 0, &long_time, &none), -1));
    return unused;
}

Test(gate_single, another_threads_signal_goes_on_to_the_main_thread)
{
    sigset_t interrupt;
    sigset_t before;
    pthread_t thread;
    begin(1);
    gate_arm();
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    cr_assert(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    cr_assert(pthread_kill(thread, SIGINT) == 0);
    (void)pthread_join(thread, NULL);
    cr_expect(py_raises());
}
