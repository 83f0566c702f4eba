/*
 * Death reports as files. Runs in the kernel process. Owns nothing.
 *
 * The names sort by date, so the oldest is the first; the number of files is
 * bounded because nobody else ever cleans up here.
 */

#include "kernel/death_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_report(const struct dirent *entry)
{
    return strncmp(entry->d_name, "death-", 6) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void remove_oldest(const char *directory)
{
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, is_report, by_name);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < n; i++) {
        if (fd >= 0 && i < n - DEATH_FILES_KEPT) {
            (void)unlinkat(fd, entries[i]->d_name, 0);
        }
        free(entries[i]);
    }
    free(entries);
    if (fd >= 0) {
        (void)close(fd);
    }
}

static int write_all(int fd, struct slice text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0) {
            text.p += n;
            text.n -= (size_t)n;
        }
    }
    return 0;
}

int death_file_write(const char *directory, long pid, struct slice text, char *ret_path,
                     size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    char date[32];
    int fd, r;

    (void)gmtime_r(&now, &utc);
    (void)strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &utc);
    if (snprintf(ret_path, size, "%s/death-%s-%ld.txt", directory, date, pid) >= (int)size) {
        return -ENAMETOOLONG;
    }
    fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    r = write_all(fd, text);
    (void)close(fd);
    remove_oldest(directory);
    return r;
}
