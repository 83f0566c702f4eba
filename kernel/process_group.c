/*
 * Looks at processes through /proc. Runs in the kernel process. Linux only.
 *
 * kill(-group) would do for most, but an interrupt has to reach the worker's
 * main thread by tgkill and all others of its group by kill; and a group is
 * empty only when no member lives, while kill(-group, 0) counts zombies.
 */

#include "kernel/process_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a small file of /proc/<pid>. -> 0, -errno. */
static int read_proc(pid_t pid, const char *name, char *ret_text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    n = read(fd, ret_text, size - 1);
    if (n < 0) {
        n = -errno;
    } else {
        ret_text[n] = '\0';
    }
    (void)close(fd);
    return n < 0 ? (int)n : 0;
}

/* The fields of stat after the command's name, which may contain anything. */
static int read_stat(pid_t pid, char text[1024], const char **ret_fields)
{
    const char *paren;
    int r = read_proc(pid, "stat", text, 1024);

    if (r < 0) {
        return r;
    }
    paren = strrchr(text, ')');
    if (!paren) {
        return -EINVAL;
    }
    *ret_fields = paren + 1;
    return 0;
}

/* The fields begin " S ppid pgrp": state, parent, group (proc(5)). */
static bool lives_in(const char *fields, pid_t group)
{
    const char *at = strlen(fields) > 3 ? fields + 3 : "";
    char *end;

    (void)strtol(at, &end, 10);
    return strtol(end, NULL, 10) == group && fields[1] != 'Z' && fields[1] != 'X';
}

size_t process_group_each(pid_t group, void (*visit)(pid_t pid, void *arg), void *arg)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    size_t found = 0;

    while (proc && (entry = readdir(proc))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char text[1024];
        const char *fields;

        if (pid > 0 && pid != group && read_stat(pid, text, &fields) == 0 &&
            lives_in(fields, group)) {
            found++;
            visit(pid, arg);
        }
    }
    if (proc) {
        (void)closedir(proc);
    }
    return found;
}

pid_t process_parent(pid_t pid)
{
    char text[1024];
    const char *fields;

    return read_stat(pid, text, &fields) == 0 && strlen(fields) > 3
               ? (pid_t)strtol(fields + 3, NULL, 10)
               : 0;
}

int process_start_time(pid_t pid, uint64_t *ret_ticks)
{
    enum { FIELDS_BEFORE = 19 }; /* proc(5): starttime is field 22, the first one here is 3 */
    char text[1024];
    const char *at;
    int r = read_stat(pid, text, &at);

    if (r < 0) {
        return r;
    }
    for (int i = 0; i < FIELDS_BEFORE && at; i++) {
        at = strchr(at + 1, ' ');
    }
    if (!at) {
        return -EINVAL;
    }
    *ret_ticks = strtoull(at, NULL, 10);
    return 0;
}

static bool mask_has(const char *status, const char *name, int signal)
{
    const char *row = strstr(status, name);

    return row && (strtoull(row + strlen(name), NULL, 16) >> (signal - 1) & 1) != 0;
}

bool process_dies_of_sigint(pid_t pid)
{
    char status[4096];

    return read_proc(pid, "status", status, sizeof status) == 0 &&
           !mask_has(status, "\nSigCgt:", SIGINT) && !mask_has(status, "\nSigIgn:", SIGINT) &&
           !mask_has(status, "\nSigBlk:", SIGINT);
}

bool process_catches(pid_t pid, int signal)
{
    char status[4096];

    return read_proc(pid, "status", status, sizeof status) == 0 &&
           mask_has(status, "\nSigCgt:", signal);
}
