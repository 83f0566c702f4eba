/*
 * bridge/gate.c: which SIGINT passes. The kernel process of these tests is a
 * child that sends the signals that it is told to.
 */

#include "bridge/gate.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "interpreter.h"

static struct link_page page;
static pid_t kernel;
static int order[2], done[2]; /* a byte: send one signal, it was sent */

/* A process that sends SIGINT to us for each byte it gets. */
static pid_t sender_new(void)
{
    pid_t pid = fork();
    char byte;
    if (pid != 0) {
        return pid;
    }
    (void)close(order[1]); /* the end of the test is the end of the pipe */
    while (read(order[0], &byte, 1) == 1) {
        (void)kill(getppid(), SIGINT);
        (void)write(done[1], &byte, 1);
    }
    _exit(0);
}

static void start(void)
{
    cr_assert(pipe(order) == 0 && pipe(done) == 0);
    kernel = sender_new();
    (void)close(order[0]);
    interpreter_start();
    cr_assert(py_gate_open(&page, kernel) == 0);
}

static void stop(void)
{
    (void)close(order[1]);
    (void)waitpid(kernel, NULL, 0);
}

TestSuite(gate, .init = start, .fini = stop);

/* A signal of the kernel process, here when this returns. */
static void signal_from_kernel(void)
{
    char byte = 'x';
    cr_assert(write(order[1], &byte, 1) == 1);
    while (read(done[0], &byte, 1) != 1) {
    }
}

static void signal_from_stranger(void)
{
    pid_t stranger = fork();
    if (stranger == 0) {
        (void)kill(getppid(), SIGINT);
        _exit(0);
    }
    while (waitpid(stranger, NULL, 0) != stranger) {
    }
}

static void ask(uint64_t request)
{
    atomic_store(&page.interrupt_number, request);
    atomic_fetch_add(&page.interrupt_serial, 1);
}

static bool acknowledged(void)
{
    return atomic_load(&page.interrupt_acknowledged) == atomic_load(&page.interrupt_serial);
}

/* Did an interrupt pass since the last look? */
static bool py_interrupted(void)
{
    bool raised = PyErr_CheckSignals() != 0;
    if (raised) {
        cr_assert(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
    }
    PyErr_Clear();
    return raised;
}

Test(gate, an_interrupt_of_the_running_request_passes_and_is_acknowledged)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    ask(3);
    signal_from_kernel();
    cr_expect(not(acknowledged()), "only Python's handler says that it was heard");
    cr_expect(py_interrupted());
    cr_expect(acknowledged());
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, the_same_interrupt_sent_again_is_one)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    ask(3);
    signal_from_kernel();
    signal_from_kernel();
    cr_expect(py_interrupted());
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, a_second_interrupt_of_the_same_request_passes_too)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    for (int i = 0; i < 3; i++) {
        ask(3);
        signal_from_kernel();
        cr_expect(py_interrupted());
    }
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, an_interrupt_of_another_request_is_dropped)
{
    ask(2);
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, an_interrupt_while_nothing_runs_is_dropped)
{
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
    cr_assert(py_gate_request(3) == 0 && py_gate_request(0) == 0);
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
}

Test(gate, an_interrupt_that_comes_early_waits_until_user_code_runs)
{
    ask(3);
    signal_from_kernel(); /* the request is still in the socket */
    cr_assert(py_gate_request(3) == 0);
    signal_from_kernel(); /* it is being compiled */
    cr_expect(not(py_interrupted()));
    gate_arm();
    cr_expect(py_interrupted());
    cr_expect(acknowledged());
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, an_interrupt_that_the_code_did_not_hear_comes_at_its_end)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    ask(3); /* no signal: os.system() ignored it */
    cr_expect(eq(int, py_gate_disarm(), -1));
    PyErr_Clear();
    cr_expect(acknowledged());
}

Test(gate, signals_of_the_own_process_pass_as_they_are)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    for (int i = 0; i < 2; i++) {
        (void)raise(SIGINT);
        cr_expect(py_interrupted());
    }
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, a_strangers_signal_and_the_kernels_right_after_it_are_one)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    signal_from_stranger();
    cr_expect(py_interrupted());
    ask(3);
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
    cr_expect(acknowledged());
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, a_strangers_signal_is_told_to_the_kernel)
{
    cr_assert(py_gate_request(3) == 0);
    signal_from_stranger(); /* before the request's code runs: it is owed */
    gate_arm();
    cr_expect(py_interrupted());
    cr_expect(eq(u64, atomic_load(&page.stranger_request), 3));
    cr_expect(eq(u64, atomic_load(&page.stranger_serial), 1));
    cr_expect(eq(int, py_gate_disarm(), 0));
}

/* Takes one SIGINT, which the main thread has blocked. */
static void *take_signal(void *arg)
{
    (void)pthread_sigmask(SIG_UNBLOCK, arg, NULL);
    signal_from_kernel();
    return arg;
}

/* Only there does it end a system call that the cell waits in. */
Test(gate, a_signal_that_another_thread_is_given_goes_on_to_the_main_thread)
{
    sigset_t interrupt, before, pending;
    pthread_t thread;
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    ask(3);
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    cr_assert(pthread_create(&thread, NULL, take_signal, &interrupt) == 0);
    cr_assert(pthread_join(thread, NULL) == 0);
    cr_expect(not(py_interrupted()), "not for the other thread to decide");
    cr_assert(sigpending(&pending) == 0);
    cr_expect(sigismember(&pending, SIGINT), "it waits for the main thread");
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    cr_expect(py_interrupted());
    cr_expect(acknowledged(), "it came as it was: the kernel's");
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, between_requests_an_interrupt_hits_the_idle_loop_once_if_a_request_waits_for_it)
{
    cr_assert(py_gate_request(3) == 0 && py_gate_request(0) == 0);
    gate_idle(true);
    ask(3);
    signal_from_kernel();
    cr_expect(not(py_interrupted()), "that request is over");
    ask(4);
    signal_from_kernel();
    cr_expect(py_interrupted());
    signal_from_kernel();
    cr_expect(not(py_interrupted()));
    cr_expect(not(acknowledged()));
    gate_idle(false);
    cr_assert(py_gate_request(4) == 0);
    gate_arm();
    cr_expect(py_interrupted(), "and the request that it was meant for");
    cr_expect(acknowledged());
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, an_interrupt_in_a_finalizer_is_not_lost)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    cr_assert(py_exec("import signal\n"
                      "class C:\n"
                      "    def __del__(self):\n"
                      "        signal.raise_signal(signal.SIGINT)\n"
                      "c = C()\n"));
    cr_expect(not(py_exec("del c\nfor i in range(1000): pass\nassert False\n")));
    cr_expect(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt));
    PyErr_Clear();
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, a_keyboard_interrupt_that_a_finalizer_raises_itself_stays_there)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    cr_assert(py_exec("import sys\n"
                      "said = []\n"
                      "sys.stderr = type('S', (), {'write': said.append, 'flush': print})()\n"
                      "class C:\n"
                      "    def __del__(self): raise KeyboardInterrupt\n"));
    cr_expect(py_exec("c = C()\ndel c\nfor i in range(1000): pass\n"
                      "assert 'KeyboardInterrupt' in ''.join(said)\n"));
    cr_expect(eq(int, py_gate_disarm(), 0));
}

static PyObject *py_interrupt_here(PyObject *self, PyObject *argument)
{
    (void)self;
    (void)raise(SIGINT);
    cr_expect(eq(int, PyErr_CheckSignals(), 0), "held");
    return Py_NewRef(argument);
}

Test(gate, what_is_held_is_finished_and_interrupted_after_it)
{
    static PyMethodDef method = {"interrupt_here", py_interrupt_here, METH_O, ""};
    PyObject *function = PyCFunction_New(&method, NULL);
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    PyObject *value = py_gate_hold(function, Py_True);
    cr_expect(value == Py_True);
    cr_expect(py_interrupted());
    cr_expect(eq(int, py_gate_disarm(), 0));
    Py_DECREF(function);
    Py_XDECREF(value);
}

Test(gate, python_sees_its_own_default_handler)
{
    cr_expect(py_exec("import signal\n"
                      "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
                      "assert signal.signal(signal.SIGINT, signal.default_int_handler) is "
                      "signal.default_int_handler\n"));
}

Test(gate, a_handler_of_the_users_is_called_behind_the_gate)
{
    cr_assert(py_gate_request(3) == 0);
    gate_arm();
    cr_assert(py_exec("import signal\n"
                      "seen = []\n"
                      "signal.signal(signal.SIGINT, lambda *args: seen.append(args[0]))\n"));
    ask(3);
    signal_from_kernel();
    cr_expect(acknowledged(), "nothing else would acknowledge it");
    cr_expect(not(py_interrupted()));
    signal_from_kernel(); /* sent before the kernel saw that */
    cr_expect(not(py_interrupted()));
    cr_expect(py_exec("assert seen == [2]"));
    cr_expect(eq(int, py_gate_disarm(), 0));
}

Test(gate, after_sig_dfl_the_next_request_is_interruptible_again)
{
    cr_assert(py_gate_request(3) == 0);
    cr_assert(py_exec("import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"));
    cr_assert(py_gate_request(4) == 0);
    gate_arm();
    ask(4);
    signal_from_kernel();
    cr_expect(py_interrupted());
    cr_expect(eq(int, py_gate_disarm(), 0));
}
