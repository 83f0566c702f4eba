/*
 * Reads what /proc says of one process. Runs in the kernel process. Linux only.
 *
 * Nothing here fails: each file is looked at for itself, since a container or
 * a security module may hide some (wchan and syscall need the right to trace the
 * process, which a parent has). Owns nothing.
 */

#include "kernel/process_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a first argument means. */
enum about { ABOUT_NOTHING, ABOUT_FD, ABOUT_CHILD, ABOUT_CHILD_BY_KIND };

/* The calls in which programs sleep. Numbers differ between machines, and some have fewer. */
static const struct {
    long number;
    const char *name;
    enum about about;
} calls[] = {
    {SYS_read, "read", ABOUT_FD},
    {SYS_readv, "readv", ABOUT_FD},
    {SYS_pread64, "pread", ABOUT_FD},
    {SYS_write, "write", ABOUT_FD},
    {SYS_writev, "writev", ABOUT_FD},
    {SYS_pwrite64, "pwrite", ABOUT_FD},
    {SYS_openat, "open", ABOUT_NOTHING},
    {SYS_fsync, "fsync", ABOUT_FD},
    {SYS_fdatasync, "fdatasync", ABOUT_FD},
    {SYS_flock, "flock", ABOUT_FD},
    {SYS_fcntl, "fcntl", ABOUT_FD},
    {SYS_ioctl, "ioctl", ABOUT_FD},
    {SYS_connect, "connect", ABOUT_FD},
    {SYS_accept, "accept", ABOUT_FD},
    {SYS_accept4, "accept", ABOUT_FD},
    {SYS_recvfrom, "recv", ABOUT_FD},
    {SYS_recvmsg, "recvmsg", ABOUT_FD},
    {SYS_sendto, "send", ABOUT_FD},
    {SYS_sendmsg, "sendmsg", ABOUT_FD},
    {SYS_futex, "futex", ABOUT_NOTHING},
    {SYS_nanosleep, "nanosleep", ABOUT_NOTHING},
    {SYS_clock_nanosleep, "clock_nanosleep", ABOUT_NOTHING},
    {SYS_ppoll, "poll", ABOUT_NOTHING},
    {SYS_pselect6, "select", ABOUT_NOTHING},
    {SYS_epoll_pwait, "epoll_wait", ABOUT_NOTHING},
    {SYS_wait4, "wait4", ABOUT_CHILD},
    {SYS_waitid, "waitid", ABOUT_CHILD_BY_KIND},
#ifdef SYS_open
    {SYS_open, "open", ABOUT_NOTHING},
    {SYS_poll, "poll", ABOUT_NOTHING},
    {SYS_select, "select", ABOUT_NOTHING},
    {SYS_epoll_wait, "epoll_wait", ABOUT_NOTHING},
#endif
};

/* Reads a small file below <proc>/<pid>, without the line's end. -> whether there was any text. */
static bool read_text(const char *proc, pid_t pid, const char *name, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%d/%s", proc, (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, ret_text, size - 1);
    (void)close(fd);
    if (n <= 0) {
        return false;
    }
    ret_text[n] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return ret_text[0] != '\0';
}

/* The field of a stat line; the command's name, which may hold anything, is the second. */
static const char *stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')');

    for (int i = 2; i < number && at; i++) {
        at = strchr(at + 1, ' ');
    }
    return at && number > 2 ? at + 1 : NULL;
}

static char read_state(const char *proc, pid_t pid, const char *name)
{
    char text[1024];
    const char *state;

    if (!read_text(proc, pid, name, text, sizeof text)) {
        return 0;
    }
    state = stat_field(text, 3);
    return state ? *state : '\0';
}

static int64_t read_cpu_ms(const char *proc, pid_t pid)
{
    char text[1024];
    const char *user, *system;

    if (!read_text(proc, pid, "stat", text, sizeof text)) {
        return -1;
    }
    user = stat_field(text, 14);
    system = stat_field(text, 15);
    return user && system ? (int64_t)(strtoull(user, NULL, 10) + strtoull(system, NULL, 10)) *
                                1000 / sysconf(_SC_CLK_TCK)
                          : -1;
}

/* /proc/<pid>/fd/<n> is a link: "/dev/tty", "pipe:[4711]". */
static void read_file_of(const char *proc, pid_t pid, uint64_t fd, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/%d/fd/%" PRIu64, proc, (int)pid, fd);
    n = readlink(path, ret_text, size - 1);
    ret_text[n > 0 ? n : 0] = '\0';
}

static void read_child(const char *proc, int64_t child, struct process_facts *facts)
{
    if (child > 0 && child <= INT_MAX) {
        facts->child = (pid_t)child;
        if (!read_text(proc, facts->child, "comm", facts->child_name, sizeof facts->child_name)) {
            facts->child_name[0] = '\0';
        }
    }
}

/* "61 0x2f4 0x7ffd… …": the number, then the arguments; "running" while there is no call. */
static void read_call(const char *proc, pid_t pid, struct process_facts *facts)
{
    char text[512], *at;
    uint64_t first, second;
    long number;

    if (!read_text(proc, pid, "syscall", text, sizeof text)) {
        return;
    }
    number = strtol(text, &at, 10);
    if (at == text || number < 0) {
        return;
    }
    first = strtoull(at, &at, 16);
    second = strtoull(at, &at, 16);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (calls[i].number != number) {
            continue;
        }
        facts->call = calls[i].name;
        if (calls[i].about == ABOUT_FD) {
            read_file_of(proc, pid, first, facts->file, sizeof facts->file);
        } else if (calls[i].about == ABOUT_CHILD) {
            read_child(proc, (int32_t)(uint32_t)first, facts);
        } else if (calls[i].about == ABOUT_CHILD_BY_KIND && first == P_PID) {
            read_child(proc, (int32_t)(uint32_t)second, facts);
        }
        return;
    }
}

void process_facts_read(const char *proc, pid_t pid, struct process_facts *ret_facts)
{
    struct process_facts facts = {.cpu_ms = read_cpu_ms(proc, pid)};
    char name[64];

    (void)snprintf(name, sizeof name, "task/%d/stat", (int)pid);
    facts.state = read_state(proc, pid, name);
    if (!read_text(proc, pid, "wchan", facts.wait_channel, sizeof facts.wait_channel) ||
        strcmp(facts.wait_channel, "0") == 0) {
        facts.wait_channel[0] = '\0';
    }
    read_call(proc, pid, &facts);
    *ret_facts = facts;
}
