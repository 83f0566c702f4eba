/* Tests of kernel/file_limit.c: each in a process of its own, as the limit is the process's. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/file_limit.h"
#include "kernel/log.h"

static void set_limit(rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};

    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static rlim_t soft_limit(pid_t pid)
{
    struct rlimit limit;

    cr_assert(prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0);
    return limit.rlim_cur;
}

Test(file_limit, is_raised_for_us_and_restored_for_a_child)
{
    pid_t child;

    set_limit(100, 200);
    cr_assert_eq(file_limit_raise(), 0);
    cr_assert_eq(file_limit(), 200);
    cr_assert_eq(soft_limit(0), 200);
    child = fork();
    if (child == 0) {
        (void)pause();
    }
    cr_assert_eq(soft_limit(child), 200);
    file_limit_restore(child);
    cr_assert_eq(soft_limit(child), 100);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

Test(file_limit, too_low_a_hard_one_is_told)
{
    set_limit(40, FILE_LIMIT_LEAST - 1);
    cr_assert_eq(file_limit_raise(), -EMFILE);
    cr_assert_eq(file_limit(), FILE_LIMIT_LEAST - 1);
}

/* A listener on loopback, and a connection that waits there. */
static void connect_to(int listener)
{
    struct sockaddr_in address;
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert(getsockname(listener, (struct sockaddr *)&address, &n) == 0);
    cr_assert(connect(fd, (const struct sockaddr *)&address, n) == 0);
}

Test(file_limit, the_last_files_are_never_given_to_connections)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), accepted = -1, last;

    set_limit(FILE_LIMIT_LEAST, FILE_LIMIT_LEAST);
    cr_assert(bind(listener, (const struct sockaddr *)&address, sizeof address) == 0);
    cr_assert(listen(listener, 8) == 0);
    connect_to(listener);
    accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    cr_assert(accepted >= 0, "nothing is turned away before the limit is raised");
    cr_assert_eq(fcntl(accepted, F_GETFD), FD_CLOEXEC);

    cr_assert_eq(file_limit_raise(), 0);
    log_init(open("/dev/null", O_WRONLY), LEVEL_WARNING);
    connect_to(listener);
    do {
        last = dup(listener);
        cr_assert(last >= 0);
    } while (last < FILE_LIMIT_LEAST - FILE_LIMIT_RESERVE - 1);
    cr_assert_eq(accept4(listener, NULL, NULL, 0), -1);
    cr_assert_eq(errno, ECONNABORTED);
    (void)close(last);
    connect_to(listener); /* takes that one */
    (void)close(accepted);
    cr_assert_eq(accept4(listener, NULL, NULL, 0), accepted, "there is room again");
}
