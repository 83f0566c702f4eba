/*
 * Usage: see usage.h. The system resets the high-water mark of a process
 * that writes 5 into its clear_refs (proc(5)); where that is refused the peak is
 * the one since the process began. Worker, main thread; owns nothing.
 */

#include "bridge/usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double cpu_seconds(void)
{
    struct rusage self;
    struct rusage children;
    if (getrusage(RUSAGE_SELF, &self) != 0 || getrusage(RUSAGE_CHILDREN, &children) != 0) {
        return 0;
    }
    return seconds_of(self.ru_utime) + seconds_of(self.ru_stime) + seconds_of(children.ru_utime) +
           seconds_of(children.ru_stime);
}

static double wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "5", 1);
        (void)ignored;
        (void)close(fd);
    }
}

static long peak_of_process(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static long peak_kb(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "\nVmHWM:");
    if (line != NULL) {
        return strtol(line + strlen("\nVmHWM:"), NULL, 10);
    }
    return peak_of_process();
}

void usage_begin(enum usage_peak peak, struct usage *ret_begin)
{
    if (peak == USAGE_PEAK_OF_CELL) {
        reset_peak();
    }
    *ret_begin = (struct usage){peak, wall_seconds(), cpu_seconds(), 0};
}

void usage_end(const struct usage *begin, struct usage *ret_usage)
{
    *ret_usage =
        (struct usage){begin->peak, wall_seconds() - begin->wall_s, cpu_seconds() - begin->cpu_s,
                       begin->peak == USAGE_PEAK_OF_CELL ? peak_kb() : peak_of_process()};
}
