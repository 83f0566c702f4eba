/* kernel/host_pipe.c: the process, its signals, its pipes, and its end. */

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kernel/process_group.h"
#include "tests/unit/host_fixture.h"

extern char **environ;

static struct host_transport start_limited(const char *script, size_t line_limit)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct host_pipe_options options = {
        .argv = argv, .environment = environ, .shutdown_ms = 2000, .line_limit = line_limit};
    struct host_transport transport;

    cr_assert_eq(host_pipe_transport(&options, &transport), 0);
    return transport;
}

static struct host_transport start(const char *script)
{
    return start_limited(script, 0);
}

static void expect_line(struct host_transport *transport, const char *expected)
{
    const char *line = NULL;
    size_t n = 0;

    cr_assert_eq(transport->read_line(transport->arg, &line, &n), 1, "instead of %s", expected);
    cr_assert_eq(n, strlen(expected), "%.*s", (int)n, line);
    cr_assert_arr_eq(line, expected, n);
}

static void expect_end(struct host_transport *transport)
{
    const char *line;
    size_t n;

    cr_assert_eq(transport->read_line(transport->arg, &line, &n), 0);
}

/* test_kernel_children_start_with_default_sigint_even_when_spawner_ignores_it */
static void *spawn_and_read(void *arg)
{
    struct host_transport transport =
        start("exec python3 -c \"import signal; print('int_reset=%s quit_reset=%s' % ("
              "signal.getsignal(signal.SIGINT) is signal.default_int_handler, "
              "signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL))\"");

    expect_line(&transport, "int_reset=True quit_reset=True");
    transport.close(transport.arg, false);
    return arg;
}

Test(host_pipe, children_start_with_default_signals_whatever_the_spawner_ignores_and_blocks)
{
    sigset_t blocked;
    pthread_t thread;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)sigfillset(&blocked);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    (void)spawn_and_read(NULL);
    cr_assert_eq(pthread_create(&thread, NULL, spawn_and_read, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

static volatile sig_atomic_t seen;

static void note(int signal)
{
    seen = signal;
}

/* test_tgkill_helper_reaches_the_calling_threads_own_process */
Test(host_pipe, a_signal_for_a_main_thread_reaches_it)
{
    (void)signal(SIGUSR1, note);
    cr_assert(host_signal_main_thread(getpid(), SIGUSR1));
    cr_assert_eq(seen, SIGUSR1, "it is handled before tgkill returns");
    cr_assert_not(host_signal_main_thread(0, SIGUSR1));
}

/* Its main thread has it blocked, so one for the process would go to the other thread. */
Test(host_pipe, an_interrupt_is_for_the_main_thread_alone)
{
    struct host_transport transport =
        start("exec python3 -uc \"import signal, threading, time\n"
              "taken = []\n"
              "signal.signal(signal.SIGINT, lambda *a: taken.append(1))\n"
              "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
              "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
              "print('ready')\n"
              "while not taken and signal.SIGINT not in signal.sigpending(): time.sleep(0.01)\n"
              "print('taken' if taken else 'waits')\"");

    expect_line(&transport, "ready");
    cr_assert(transport.interrupt(transport.arg));
    expect_line(&transport, "waits");
    transport.close(transport.arg, false);
}

Test(host_pipe, the_worker_leads_a_session_and_reads_and_writes_pipes)
{
    struct host_transport transport =
        start("read a; echo \"got $a\"; set -- $(cat /proc/$$/stat); echo \"$1 $5 $6\"");
    char expected[64];
    int pid = transport.pid(transport.arg);

    cr_assert_eq(transport.write_line(transport.arg, "line\n", 5), 0);
    expect_line(&transport, "got line");
    (void)snprintf(expected, sizeof expected, "%d %d %d", pid, pid, pid);
    expect_line(&transport, expected);
    expect_end(&transport);
    transport.close(transport.arg, false);
}

Test(host_pipe, no_fd_of_ours_is_open_in_the_worker)
{
    int ours = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct host_transport transport = start("exec ls /proc/self/fd");

    expect_line(&transport, "0");
    expect_line(&transport, "1");
    expect_line(&transport, "2");
    expect_line(&transport, "3"); /* the directory */
    expect_end(&transport);
    transport.close(transport.arg, false);
    (void)close(ours);
}

Test(host_pipe, a_host_without_standard_fds_can_spawn)
{
    struct host_transport transport;

    (void)close(0);
    (void)close(1);
    transport = start("read a; echo $a; echo warning >&2; read b");
    cr_assert_eq(transport.write_line(transport.arg, "x\n", 2), 0);
    expect_line(&transport, "x");
    transport.close(transport.arg, false);
}

Test(host_pipe, a_program_that_is_not_there_is_an_error)
{
    const char *const argv[] = {"/nowhere/program", NULL};
    struct host_pipe_options options = {.argv = argv, .environment = environ};
    struct host_transport transport;

    cr_assert_eq(host_pipe_transport(&options, &transport), -ENOENT);
    options.argv = (const char *const[]){"sh", NULL};
    options.cwd = "/nowhere";
    cr_assert_eq(host_pipe_transport(&options, &transport), -ENOENT);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "no child");
}

Test(host_pipe, writing_to_a_worker_that_is_gone_is_an_error_and_no_signal)
{
    struct host_transport transport = start("exit 3");
    int status = 0, r = 0;

    (void)signal(SIGPIPE, SIG_DFL); /* it would end this test */
    expect_end(&transport);
    cr_assert(transport.ended(transport.arg, &status));
    cr_assert_eq(WEXITSTATUS(status), 3);
    cr_assert_not(transport.alive(transport.arg));
    r = transport.write_line(transport.arg, "x\n", 2);
    cr_assert_eq(r, -EPIPE);
    cr_assert_not(transport.interrupt(transport.arg) && kill(transport.pid(transport.arg), 0) != 0);
    transport.close(transport.arg, true);
}

Test(host_pipe, a_worker_that_talks_while_it_is_written_to_blocks_nobody)
{
    enum { ANSWER = 4 * 1024 * 1024 };
    char *answer = malloc(ANSWER);
    /* 8 MiB go out before a byte is read: with one side waiting for the other it never ends. */
    struct host_transport transport =
        start("head -c 8388608 /dev/zero | tr '\\0' x; echo; read a; echo ${#a}");
    const char *line;
    size_t n;

    memset(answer, 'y', ANSWER);
    answer[ANSWER - 1] = '\n';
    cr_assert_eq(transport.write_line(transport.arg, answer, ANSWER), 0);
    cr_assert_eq(transport.read_line(transport.arg, &line, &n), 1);
    cr_assert_eq(n, 8388608);
    expect_line(&transport, "4194303");
    transport.close(transport.arg, true);
    free(answer);
}

Test(host_pipe, a_line_longer_than_the_limit_is_refused_before_it_is_whole)
{
    struct host_transport transport = start_limited("cat /dev/zero", 100000);
    const char *line;
    size_t n;

    cr_assert_eq(transport.read_line(transport.arg, &line, &n), -EMSGSIZE);
    transport.close(transport.arg, false);
}

Test(host_pipe, stderr_is_drained_and_its_end_kept)
{
    static char tail[65537];
    struct host_transport transport =
        start("i=0; while [ $i -lt 30000 ]; do echo line $i >&2; i=$((i+1)); done; echo done");
    size_t n;

    expect_line(&transport, "done"); /* it could not get there if nobody read its stderr */
    expect_end(&transport);
    while (transport.alive(transport.arg)) {
        (void)poll(NULL, 0, 1);
    }
    n = transport.stderr_tail(transport.arg, tail, sizeof tail - 1);
    cr_assert_eq(n, 65536);
    cr_assert_str_eq(tail + n - strlen("line 29998\nline 29999\n"), "line 29998\nline 29999\n");
    cr_assert_eq(transport.stderr_tail(transport.arg, tail, 6), 6);
    cr_assert_arr_eq(tail, "29999\n", 6);
    transport.close(transport.arg, false);
}

Test(host_pipe, last_words_are_known_as_soon_as_the_end_is)
{
    for (int i = 0; i < 30; i++) {
        char tail[8];
        struct host_transport transport =
            start("head -c 60000 /dev/zero >&2; echo 'last' >&2; exec kill -KILL $$");

        expect_end(&transport);
        cr_assert_eq(transport.stderr_tail(transport.arg, tail, 5), 5);
        cr_assert_arr_eq(tail, "last\n", 5);
        transport.close(transport.arg, false);
    }
}

Test(host_pipe, the_end_is_seen_though_a_child_of_the_worker_holds_its_pipes)
{
    struct host_transport transport = start("setsid sleep 30 & echo $!; exit 0");
    const char *line;
    size_t n;
    int child;

    cr_assert_eq(transport.read_line(transport.arg, &line, &n), 1);
    child = atoi(line);
    expect_end(&transport); /* not in 30 s */
    transport.close(transport.arg, true);
    (void)kill(child, SIGKILL);
}

/* test_killing_the_worker_also_ends_what_the_cell_started */
Test(host_pipe, a_kill_ends_the_whole_group)
{
    struct host_transport transport = start("sleep 60 & echo $!; wait");
    const char *line;
    size_t n;
    int child;

    cr_assert_eq(transport.read_line(transport.arg, &line, &n), 1);
    child = atoi(line);
    cr_assert_eq(getpgid(child), transport.pid(transport.arg));
    transport.kill(transport.arg);
    expect_end(&transport);
    transport.close(transport.arg, false);
    for (int i = 0; i < 10000 && kill(child, 0) == 0; i++) {
        (void)poll(NULL, 0, 1); /* it is somebody else's to reap */
    }
    cr_assert_eq(kill(child, 0), -1);
}

Test(host_pipe, a_graceful_end_is_waited_for_and_a_refused_one_is_not_for_ever)
{
    /* It says more than the pipe holds before it ends, and then where it got to. */
    struct host_transport transport =
        start("cat >/dev/null; head -c 300000 /dev/zero; echo ended >&2; exit 5");
    struct timespec before, after;

    transport.close(transport.arg, true);
    transport = start("trap '' TERM INT HUP; while :; do sleep 60; done");
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    transport.close(transport.arg, true);
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    cr_assert_geq(after.tv_sec - before.tv_sec, 1);
    cr_assert_lt(after.tv_sec - before.tv_sec, 30);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "all are reaped");
}
