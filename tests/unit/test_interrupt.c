/* Tests of kernel/interrupt.c: the page, the signal, and its repetition. */

#include <poll.h>

#include "interrupt_fixture.h"
#include "kernel/interrupt.h"

static void acknowledge(struct stage *stage)
{
    struct link_page *page = stage->worker.memory.page;

    atomic_store(&page->interrupt_acknowledged, atomic_load(&page->interrupt_serial));
}

/* Runs the loop until the timer has seen that the interrupt is over. */
static void expect_over(struct stage *stage)
{
    while (stage->kernel->interrupt_timer != -1) {
        struct pollfd fd = {.fd = heard[0], .events = POLLIN};
        char byte;

        stage_turn(stage);
        if (poll(&fd, 1, 0) == 1) {
            (void)!read(heard[0], &byte, 1);
        }
    }
}

Test(interrupt, names_the_request_and_is_repeated_until_the_worker_takes_it_up)
{
    struct stage stage;
    struct link_page *page;

    start_cell(&stage);
    page = stage.worker.memory.page;
    cr_assert_eq(atomic_load(&page->interrupt_serial), 0);
    stage_send(&stage, CHANNEL_CONTROL, "interrupt_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "interrupt_reply", "m2", "{\"status\":\"ok\"}");
    for (int i = 0; i < 3; i++) {
        expect_heard(&stage);
        cr_assert_eq(atomic_load(&page->interrupt_number), 1);
        cr_assert_eq(atomic_load(&page->interrupt_serial), 1, "the same interrupt, again");
    }
    cr_assert_neq(stage.kernel->interrupt_timer, -1);
    acknowledge(&stage);
    expect_over(&stage);
    cr_assert_eq(stage.kernel->supervisor.interrupt, 0);

    interrupt_running(stage.kernel);
    expect_heard(&stage);
    cr_assert_eq(atomic_load(&page->interrupt_serial), 2, "another one");
    expect_heard(&stage);
    acknowledge(&stage);
    expect_over(&stage);
    stage_release(&stage);
}

Test(interrupt, ends_with_the_request_that_it_was_meant_for)
{
    struct stage stage;

    start_cell(&stage);
    interrupt_running(stage.kernel);
    expect_heard(&stage);
    stage_say_done(&stage, 1, "ok");
    stage_execute(&stage, "{\"code\":\"next\"}");
    stage_expect_request(&stage, 2, 2);
    expect_over(&stage);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_number), 1);
    stage_release(&stage);
}

Test(interrupt, where_nothing_runs_nothing_is_signalled)
{
    struct pollfd fd = {.events = POLLIN};
    struct stage stage;

    start_cell(&stage);
    stage_say_done(&stage, 1, "ok");
    while (lane_running(&stage.kernel->lane) != 0) {
        stage_turn(&stage);
    }
    interrupt_running(stage.kernel);
    stage_send(&stage, CHANNEL_CONTROL, "interrupt_request", "{}");
    stage_expect(&stage, CHANNEL_CONTROL, "interrupt_reply", "m2", "{\"status\":\"ok\"}");
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_serial), 0);
    cr_assert_eq(stage.kernel->interrupt_timer, -1);
    fd.fd = heard[0];
    cr_assert_eq(poll(&fd, 1, 0), 0);
    stage_release(&stage);
}

Test(interrupt, a_worker_that_would_die_of_it_is_left_alone_but_the_page_tells_it)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    stage_execute(&stage, "{\"code\":\"x\"}");
    stage_expect_request(&stage, 1, 1);
    interrupt_running(stage.kernel);
    cr_assert(supervisor_interrupt_waits(&stage.kernel->supervisor, stage.worker.memory.page, 1));
    supervisor_interrupt_again(&stage.kernel->supervisor);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_number), 1);
    cr_assert_eq(kill(stage.kernel->supervisor.pid, 0), 0);
    siginfo_t info = {.si_pid = 0};
    cr_assert(
        waitid(P_PID, (id_t)stage.kernel->supervisor.pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0);
    cr_assert_eq(info.si_pid, 0, "it lives");
    stage_release(&stage);
}

static volatile sig_atomic_t interrupts;

static void count(int signal)
{
    (void)signal;
    interrupts++;
}

static void tell_count(int signal)
{
    (void)signal;
    _exit(20 + interrupts);
}

/* Neither handler interrupts the other, so what came first is counted first. */
static void count_interrupts(void)
{
    struct sigaction action = {.sa_handler = count};

    (void)sigfillset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = tell_count;
    (void)sigaction(SIGUSR1, &action, NULL);
}

Test(interrupt, other_processes_of_the_group_get_each_interrupt_once)
{
    static const int times[] = {1, 2};

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct supervisor *supervisor;
        struct stage stage;
        siginfo_t info;
        pid_t child;

        start_cell(&stage);
        supervisor = &stage.kernel->supervisor;
        child = stage_fork(supervisor->pid, count_interrupts);
        cr_assert_eq(supervisor_others(supervisor), 1);
        for (int j = 0; j < times[i]; j++) {
            interrupt_running(stage.kernel);
            expect_heard(&stage);
            expect_heard(&stage);
            expect_heard(&stage);
            cr_assert_eq(supervisor->interrupted.n, sizeof child, "one row for each process");
        }
        (void)kill(child, SIGUSR1);
        cr_assert(waitid(P_PID, (id_t)child, &info, WEXITED) == 0);
        cr_assert_eq(info.si_status, 20 + times[i]);
        stage_release(&stage);
    }
}
