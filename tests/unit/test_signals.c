/* Tests of kernel/signals.c: signals through the fd, whatever was inherited. */

#include <poll.h>

#include "interrupt_fixture.h"

Test(signals, sigint_is_an_interrupt_of_the_running_cell)
{
    struct stage stage;

    start_cell(&stage);
    cr_assert(kill(getpid(), SIGINT) == 0);
    expect_heard(&stage);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_number), 1);
    cr_assert_not(stage.kernel->stopping);
    stage_release(&stage);
}

/* As the worker says it when VS Code has sent it a SIGINT. */
static void say_stranger(struct link_page *page, uint64_t request)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&page->stranger_request, request);
    atomic_store(&page->stranger_ns, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    atomic_fetch_add(&page->stranger_serial, 1);
}

Test(signals, the_second_of_one_hand_does_not_hit_the_next_cell)
{
    struct stage stage;
    struct link_page *page;

    start_cell(&stage); /* request 1 */
    page = stage.worker.memory.page;
    stage.kernel->sigint_request = 9; /* some other one */
    say_stranger(page, 0);            /* the one before it has ended of a SIGINT */
    cr_assert(kill(getpid(), SIGINT) == 0);
    signals_take(stage.kernel);
    cr_assert_eq(atomic_load(&page->interrupt_serial), 0);
    cr_assert(kill(getpid(), SIGINT) == 0); /* one more is meant */
    signals_take(stage.kernel);
    cr_assert_eq(atomic_load(&page->interrupt_serial), 1);
    say_stranger(page, 0); /* told late: ours came while that one ran */
    stage.kernel->sigint_request = 0;
    cr_assert(kill(getpid(), SIGINT) == 0);
    signals_take(stage.kernel);
    cr_assert_eq(atomic_load(&page->interrupt_serial), 2);
    say_stranger(page, 1); /* this one is being interrupted: the kernel sees to it, too */
    cr_assert(kill(getpid(), SIGINT) == 0);
    signals_take(stage.kernel);
    cr_assert_eq(atomic_load(&page->interrupt_serial), 3);
    stage_release(&stage);
}

Test(signals, sigint_before_a_request_does_not_hit_it)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_worker(&stage, listen_to_interrupts);
    stage_send(&stage, CHANNEL_SHELL, "execute_request", "{\"code\":\"x\"}");
    zmq_pollitem_t item = {.socket = sockets_handle(&stage.kernel->sockets, CHANNEL_SHELL),
                           .events = ZMQ_POLLIN};
    cr_assert_eq(zmq_poll(&item, 1, STAGE_DEADLINE_MS), 1);
    cr_assert(kill(getpid(), SIGINT) == 0);
    router_drain(stage.kernel); /* whichever the loop would have looked at first */
    cr_assert_eq(lane_running(&stage.kernel->lane), 1);
    signals_take(stage.kernel);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_serial), 0);
    stage_release(&stage);
}

Test(signals, those_that_end_a_process_end_the_kernel_and_tell_everybody)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGQUIT};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct stage stage;

        stage_init_ready(&stage);
        cr_assert(kill(getpid(), ends[i]) == 0);
        stage_expect(&stage, CHANNEL_IOPUB, "shutdown_reply", "",
                     "{\"status\":\"ok\",\"restart\":false}");
        cr_assert(stage.kernel->stopping);
        cr_assert_eq(stage.kernel->exit_status, 0);
        stage_release(&stage);
    }
}

Test(signals, nothing_that_was_inherited_stands_in_the_way)
{
    sigset_t all, blocked;
    struct sigaction action;
    int fd;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    fd = signals_open();
    cr_assert_geq(fd, 0);
    (void)sigprocmask(SIG_SETMASK, NULL, &blocked);
    cr_assert_eq(sigismember(&blocked, SIGINT), 1);
    cr_assert_eq(sigismember(&blocked, SIGTERM), 1);
    cr_assert_eq(sigismember(&blocked, SIGCHLD), 0);
    cr_assert_eq(sigismember(&blocked, SIGUSR1), 0);
    (void)sigaction(SIGINT, NULL, &action);
    cr_assert_eq(action.sa_handler, SIG_DFL);
    (void)sigaction(SIGPIPE, NULL, &action);
    cr_assert_eq(action.sa_handler, SIG_IGN);
    struct pollfd item = {.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&item, 1, 0), 0);
    cr_assert(kill(getpid(), SIGTERM) == 0);
    cr_assert_eq(poll(&item, 1, 0), 1);
    (void)close(fd);
}
