/*
 * The marker of a running cell. Runs in the kernel process. Owns the file.
 *
 * A write and no mmap: on a full disk a page that cannot be had would be a
 * SIGBUS. Its name is a hash of the connection file's path, which is too long
 * for a name and has slashes; the path itself is in the file. Whether its kernel
 * lives is told by pid and start time, and not by a lock: homes on NFS are where
 * locks hang.
 */

#include "kernel/cell_marker.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bridge/check.h"
#include "kernel/number.h"
#include "kernel/process_group.h"

/*
 * Which cell, since when, the kernel's pid and start, what its group's and the
 * machine's OOM counters said then, each after whether it was known; the
 * connection file. Each number has all its digits, so a newer text covers an
 * older one.
 */
#define FORMAT                                                                                     \
    "%020" PRIu64 " %020" PRIu64 " %020" PRIu64 " %020" PRIu64 " %d %020" PRIu64 " %d %020" PRIu64 \
    "\n%s\n"

static const char prefix[] = "running-";

enum { LEFT_KEPT = 32, LEFT_S = 3600 }; /* more than that many, and older than that: not missed */

void cell_marker_init(struct cell_marker *self)
{
    memset(self, 0, sizeof *self);
    self->fd = -1;
}

static void put_path(struct cell_marker *self, const char *directory, const char *connection)
{
    unsigned char hash[crypto_generichash_BYTES_MIN];
    char name[2 * sizeof hash + 1];

    CHECK(crypto_generichash(hash, sizeof hash, (const unsigned char *)connection,
                             strlen(connection), NULL, 0) == 0);
    (void)sodium_bin2hex(name, sizeof name, hash, sizeof hash);
    (void)snprintf(self->path, sizeof self->path, "%s/%s%s", directory, prefix, name);
}

struct left {
    uint64_t cell, since; /* since: seconds since the epoch */
    uint64_t pid, started;
    struct memory_group memory;
    char connection[CELL_MARKER_PATH];
};

/* What lies in a file: ours, or what a kernel left. -> whether it is a marker. */
static bool read_marker(int fd, struct left *ret_left)
{
    char text[CELL_MARKER_PATH + 256];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    uint64_t counts, machine_counts;
    const char *at = text;

    text[n > 0 ? n : 0] = '\0';
    memset(ret_left, 0, sizeof *ret_left);
    uint64_t *const numbers[] = {
        &ret_left->cell, &ret_left->since,        &ret_left->pid,  &ret_left->started,
        &counts,         &ret_left->memory.kills, &machine_counts, &ret_left->memory.machine_kills};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (!number_take(&at, 10, numbers[i])) {
            return false;
        }
    }
    if (*at++ != '\n') {
        return false;
    }
    ret_left->memory.counts = counts != 0;
    ret_left->memory.machine_counts = machine_counts != 0;
    (void)snprintf(ret_left->connection, sizeof ret_left->connection, "%.*s",
                   (int)strcspn(at, "\n"), at);
    return true;
}

static bool lives(const struct left *left)
{
    uint64_t started;

    return process_start_time((pid_t)left->pid, &started) == 0 && started == left->started;
}

/* Removes what a kernel has left, unless it may just be about to be restarted. */
static void remove_if_left(int directory_fd, const char *name)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat facts;
    struct left left;

    if (fd >= 0 && fstat(fd, &facts) == 0 && time(NULL) - facts.st_mtime > LEFT_S &&
        (!read_marker(fd, &left) || !lives(&left))) {
        (void)unlinkat(directory_fd, name, 0);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Kernels that are killed leave theirs; batch runners kill each one. */
static void remove_left(const char *directory)
{
    DIR *open_directory = opendir(directory);
    const struct dirent *entry;
    size_t found = 0;

    while (open_directory && (entry = readdir(open_directory))) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 && ++found > LEFT_KEPT) {
            remove_if_left(dirfd(open_directory), entry->d_name);
        }
    }
    if (open_directory) {
        (void)closedir(open_directory);
    }
}

static void put_notice(const struct cell_marker *self, const struct left *left,
                       struct buffer *ret_notice)
{
    time_t since = (time_t)left->since;
    struct tm local;
    char clock[32];

    (void)localtime_r(&since, &local);
    (void)strftime(clock, sizeof clock, "%H:%M:%S", &local);
    buffer_printf(ret_notice,
                  "The kernel before this one was ended from outside, together with its Python, "
                  "while cell [%" PRIu64 "] ran, which began at %s. All variables are gone.",
                  left->cell, clock);
    if (memory_group_killed(&left->memory, &self->memory)) {
        buffer_put_text(ret_notice, " Linux's OOM killer was at work since that kernel's start: ");
        memory_group_put_words(&left->memory, &self->memory, ret_notice);
        buffer_put_char(ret_notice, '.');
    }
    buffer_put_text(ret_notice, "\n");
    buffer_put_char(ret_notice, '\0');
}

void cell_marker_set(struct cell_marker *self, uint32_t count)
{
    char text[CELL_MARKER_PATH + 256];
    int n;

    if (self->fd < 0) {
        return;
    }
    n = snprintf(text, sizeof text, FORMAT, (uint64_t)count, (uint64_t)time(NULL),
                 (uint64_t)getpid(), self->started, self->memory.counts, self->memory.kills,
                 self->memory.machine_counts, self->memory.machine_kills, self->connection);
    if (n > 0) {
        ssize_t ignored = pwrite(self->fd, text, (size_t)n % sizeof text, 0); /* it is a help */
        (void)ignored;
    }
}

void cell_marker_open(struct cell_marker *self, const char *directory, const char *connection,
                      const struct memory_group *memory, struct buffer *ret_notice)
{
    struct left left;

    self->connection = connection;
    self->memory = *memory;
    put_path(self, directory, connection);
    self->fd = open(self->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    (void)process_start_time(getpid(), &self->started);
    if (self->fd >= 0 && read_marker(self->fd, &left)) {
        if (lives(&left)) { /* a second kernel on one connection file; it will not get far */
            (void)close(self->fd);
            self->fd = -1;
        } else if (left.cell > 0 && strcmp(left.connection, connection) == 0) {
            put_notice(self, &left, ret_notice);
        }
    }
    cell_marker_set(self, 0);
    remove_left(directory);
}

void cell_marker_release(struct cell_marker *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        (void)unlink(self->path);
    }
    self->fd = -1;
}
