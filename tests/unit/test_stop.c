/* Tests of kernel/stop.c: the end in order, by deadlines, and by the worker's own end. */

#include "kernel_fixture.h"

/* A cell runs in a process that ends by SIGKILL only. */
static void ignore_all(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_IGN);
    }
}

static void start_cell(struct stage *stage, void (*body)(void))
{
    stage_init_ready(stage);
    stage_worker(stage, body);
    stage_execute(stage, "{\"code\":\"x\"}");
    stage_expect_request(stage, 1, 1);
    stage_expect_status(stage, "m1", "busy");
    stage_expect(stage, CHANNEL_IOPUB, "execute_input", "m1", "");
}

Test(stop, what_waits_is_aborted_and_no_new_request_is_run)
{
    struct stage stage;

    start_cell(&stage, ignore_all);
    stage_execute(&stage, "{\"code\":\"waits\"}");
    while (!stage.kernel->lane.queue.first) {
        stage_turn(&stage);
    }
    stage_send(&stage, CHANNEL_CONTROL, "shutdown_request", "{\"restart\":true}");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m2", "\"status\":\"aborted\"");
    stage_execute(&stage, "{\"code\":\"late\"}");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m4", "\"status\":\"aborted\"");
    /* The request socket has ended: Python finishes. */
    struct link_request *request;
    cr_assert_eq(link_reader_wait(&stage.reader, LINK_SHELL, 0, NULL, &request), LINK_ECLOSED);
    cr_assert_eq(atomic_load(&stage.worker.memory.page->interrupt_number), 1, "it was asked to");
    /* The reply comes when the cell has ended, which it does by force here. */
    stage_expect(&stage, CHANNEL_CONTROL, "shutdown_reply", "m3",
                 "{\"status\":\"ok\",\"restart\":true}");
    cr_assert_eq(stage.kernel->stop_cell, STOP_CELL_KILLED);
    stage_release(&stage);
}

Test(stop, a_second_stop_changes_nothing)
{
    struct stage stage;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    stop_begin(stage.kernel, 3);
    stop_begin(stage.kernel, 0);
    stop_announce(stage.kernel);
    (void)kill(stage.kernel->supervisor.pid, SIGTERM);
    stage_run_to_the_end(&stage);
    cr_assert_eq(stage.kernel->exit_status, 3);
    cr_assert_not(stage.kernel->given_up);
    stage_turn(&stage);
    stage_release(&stage);
}

Test(stop, a_worker_that_ends_in_time_ends_the_kernel_at_once)
{
    struct stage stage;
    long long start;

    stage_init_ready(&stage);
    stage_worker(&stage, NULL);
    start = kernel_now_ms();
    stop_announce(stage.kernel);
    stage_expect(&stage, CHANNEL_IOPUB, "shutdown_reply", "", "\"restart\":false");
    (void)kill(stage.kernel->supervisor.pid, SIGTERM); /* its own end, as far as we can see */
    stage_run_to_the_end(&stage);
    cr_assert_lt(kernel_now_ms() - start, STOP_CELL_MS);
    cr_assert_eq(stage.kernel->exit_status, 0);
    cr_assert_eq(stage.kernel->supervisor.pid, 0, "it is reaped");
    stage_release(&stage);
}

/* Milliseconds until the kernel has ended a worker that ignores everything. */
static long long end_by_force(struct stage *stage)
{
    long long start = kernel_now_ms();

    stop_begin(stage->kernel, 0);
    stage_run_to_the_end(stage);
    cr_assert(stage->kernel->given_up);
    cr_assert_eq(stage->kernel->exit_status, 0);
    return kernel_now_ms() - start;
}

Test(stop, a_cell_that_does_not_end_is_given_up_after_its_deadline)
{
    struct stage stage;
    long long took;

    start_cell(&stage, ignore_all);
    took = end_by_force(&stage);
    cr_assert(took >= STOP_CELL_MS && took < STOP_HARD_MS, "%lld ms", took);
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1", "\"ename\":\"KernelShutdown\"");
    stage_expect(&stage, CHANNEL_IOPUB, "error", "m1", "shut down while this cell ran");
    stage_expect_status(&stage, "m1", "idle");
    stage_release(&stage);
}

Test(stop, a_python_that_does_not_finish_has_longer_and_is_killed_then)
{
    struct stage stage;
    long long took;

    stage_init_ready(&stage);
    stage_worker(&stage, ignore_all);
    took = end_by_force(&stage);
    cr_assert(took >= STOP_HARD_MS && took < STOP_HARD_MS + 1000, "%lld ms", took);
    stage_release(&stage);
}

static bool is_dead(pid_t pid, int *ret_signal)
{
    siginfo_t info = {.si_pid = 0};

    cr_assert(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) == 0);
    *ret_signal = info.si_status;
    return info.si_pid == pid;
}

Test(stop, the_rest_of_the_group_is_told_and_then_killed)
{
    static const struct {
        void (*body)(void);
        int signal;
        long long at_least;
    } rows[] = {
        {NULL, SIGTERM, 0},
        {ignore_all, SIGKILL, STOP_GROUP_MS},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        long long start, took;
        pid_t child;
        int signal;

        stage_init_ready(&stage);
        stage_worker(&stage, NULL);
        child = stage_fork(stage.kernel->supervisor.pid, rows[i].body);
        start = kernel_now_ms();
        stop_begin(stage.kernel, 0);
        (void)kill(stage.kernel->supervisor.pid, SIGTERM);
        stage_run_to_the_end(&stage);
        took = kernel_now_ms() - start;
        cr_assert(is_dead(child, &signal));
        cr_assert_eq(signal, rows[i].signal);
        cr_assert(took >= rows[i].at_least && took < STOP_HARD_MS, "%lld ms", took);
        stage_release(&stage);
    }
}

Test(stop, children_are_told_while_python_still_ends)
{
    struct stage stage;
    long long start;
    pid_t child;
    int signal;

    stage_init_ready(&stage);
    stage_worker(&stage, ignore_all);
    child = stage_fork(stage.kernel->supervisor.pid, NULL);
    start = kernel_now_ms();
    stop_begin(stage.kernel, 0);
    while (!is_dead(child, &signal)) {
        stage_turn(&stage);
    }
    cr_assert_eq(signal, SIGTERM);
    cr_assert_geq(kernel_now_ms() - start, STOP_CHILDREN_MS);
    cr_assert_not(stage.kernel->given_up, "Python has its time");
    stage_run_to_the_end(&stage);
    stage_release(&stage);
}

Test(stop, every_shutdown_request_is_told_what_became_of_the_cell)
{
    struct stage stage;

    start_cell(&stage, NULL);
    stage_send(&stage, CHANNEL_CONTROL, "shutdown_request", "{\"restart\":true}");
    stage_send(&stage, CHANNEL_SHELL, "shutdown_request", "{}");
    while (!stage.kernel->shutdowns) {
        stage_turn(&stage);
    }
    cr_assert(stage.kernel->stopping);
    cr_assert_eq(stage.kernel->stop_cell, STOP_CELL_ENDED, "as long as nothing else is known");
    (void)kill(stage.kernel->supervisor.pid, SIGKILL);
    stage_run_to_the_end(&stage);
    stage_expect(&stage, CHANNEL_CONTROL, "shutdown_reply", "m2",
                 "{\"status\":\"ok\",\"restart\":true}");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1", "\"ename\":\"KernelShutdown\"");
    stage_expect(&stage, CHANNEL_SHELL, "shutdown_reply", "m3",
                 "{\"status\":\"ok\",\"restart\":false}");
    cr_assert_eq(stage.kernel->stop_cell, STOP_CELL_KILLED);
    cr_assert_null(stage.kernel->shutdowns);
    stage_release(&stage);
}

static void exit_7(int signal)
{
    (void)signal;
    _exit(7);
}

static void exit_when_told(void)
{
    (void)signal(SIGUSR1, exit_7);
    (void)signal(SIGUSR2, SIG_DFL);
}

static void exit_0(int signal)
{
    (void)signal;
    _exit(0);
}

static void exit_well_when_told(void)
{
    (void)signal(SIGUSR1, exit_0);
}

Test(stop, a_worker_that_dies_gives_its_last_words_and_the_kernel_ends_as_it_did)
{
    static const struct {
        void (*body)(void);
        int signal, exit_status;
        const char *words;
    } rows[] = {
        {exit_when_told, SIGUSR1, 7, "ended with exit status 7"},
        {exit_well_when_told, SIGUSR1, 1, "ended with exit status 0"},
        {exit_when_told, SIGUSR2, -SIGUSR2, "killed by SIGUSR2"},
        {exit_when_told, SIGKILL, -SIGKILL, "killed by SIGKILL"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char stack[] = "Fatal Python error: the stack\n";
        struct stage stage;

        start_cell(&stage, rows[i].body);
        stage_execute(&stage, "{\"code\":\"waits\"}");
        while (!stage.kernel->lane.queue.first) {
            stage_turn(&stage);
        }
        for (bool idle = false; !idle;) { /* of the turns, all but the last one's */
            struct told told;

            stage_receive(&stage, CHANNEL_IOPUB, &told);
            char last[16];
            (void)snprintf(last, sizeof last, "turn %u", stage.turns);
            idle = strcmp(told.parent, last) == 0 && strstr(told.content, "idle");
            told_release(&told);
        }
        stage_say_text(&stage, 1, "in the ring, ");
        cr_assert(write(stage.stdio[0], "in the pipe", 11) == 11);
        cr_assert(write(stage.worker.fds.side, stack, strlen(stack)) == (ssize_t)strlen(stack));
        (void)kill(stage.kernel->supervisor.pid, rows[i].signal);
        stage_expect(&stage, CHANNEL_IOPUB, "stream", "m1", "\"in the ring, in the pipe\"");
        stage_expect(&stage, CHANNEL_IOPUB, "error", "m1", rows[i].words);
        stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1",
                     "\"traceback\":[\"Fatal Python error: the stack\\n\\nPeak memory ");
        stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m2", "\"status\":\"aborted\"");
        stage_run_to_the_end(&stage);
        cr_assert_eq(stage.kernel->exit_status, rows[i].exit_status);
        stage_release(&stage);
    }
}

Test(stop, a_worker_that_never_became_ready_leaves_a_kernel_that_tells_why)
{
    struct stage stage;

    stage_init(&stage);
    stage_worker(&stage, exit_when_told);
    stage_execute(&stage, "{\"code\":\"early\"}");
    while (!stage.kernel->lane.queue.first) {
        stage_turn(&stage);
    }
    cr_assert(write(stage.stdio[1], "no module named os\n", 19) == 19);
    (void)kill(stage.kernel->supervisor.pid, SIGUSR1);
    stage_expect(
        &stage, CHANNEL_SHELL, "execute_reply", "m1",
        "\"ename\":\"KernelStartError\",\"evalue\":\"Python did not start (/no/python): no "
        "module named os");
    cr_assert_eq(stage.kernel->worker, WORKER_BROKEN);
    cr_assert_not(stage.kernel->stopping);
    cr_assert_eq(stage.kernel->supervisor.pid, 0);
    stage_execute(&stage, "{\"code\":\"again\"}");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m2", "KernelStartError");
    stop_announce(stage.kernel);
    stage_run_to_the_end(&stage);
    cr_assert_eq(stage.kernel->exit_status, 0);
    stage_release(&stage);
}
