/*
 * Usage: see usage.h. The system resets the high-water mark of a process
 * that writes 5 into its clear_refs (proc(5)); where that is refused the peak is
 * the one since the process began.
 *
 * The mark itself stands in `status` only, which takes the system longer to write than a
 * small cell to run. So we note at the begin what is resident and how many pages were
 * asked for: no more pages asked for, no new peak. (Pages that the system or a debugger
 * adds by itself are none of the cell's.) Worker, main thread; owns the kept files.
 */

#include "bridge/usage.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bridge/kept_file.h"

static struct kept_file clear_refs = KEPT_FILE_INIT("/proc/self/clear_refs", O_WRONLY);
static struct kept_file statm = KEPT_FILE_INIT("/proc/self/statm", O_RDONLY);

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What the system has counted until now. */
struct counted {
    double cpu_s;
    long faults; /* pages asked for */
    long peak_kb;
};

static struct counted counted_now(void)
{
    struct rusage self;
    struct rusage children;
    if (getrusage(RUSAGE_SELF, &self) != 0 || getrusage(RUSAGE_CHILDREN, &children) != 0) {
        return (struct counted){0, 0, 0};
    }
    return (struct counted){
        .cpu_s = seconds_of(self.ru_utime) + seconds_of(self.ru_stime) +
                 seconds_of(children.ru_utime) + seconds_of(children.ru_stime),
        .faults = self.ru_minflt + self.ru_majflt,
        .peak_kb = self.ru_maxrss,
    };
}

/* ---- the peak --------------------------------------------------------------------------- */

/* They are of this process, not of a child's. */
static void close_in_child(void)
{
    kept_file_close(&clear_refs);
    kept_file_close(&statm);
}

/* -> false: it is refused. */
static bool reset_peak(void)
{
    static bool watches;
    if (!watches) {
        watches = pthread_atfork(NULL, NULL, close_in_child) == 0;
    }
    int fd = kept_file_fd(&clear_refs);
    return fd >= 0 && pwrite(fd, "5", 1, 0) == 1;
}

/* What is resident now, or -1. */
static long resident_kb(void)
{
    char text[128];
    int fd = kept_file_fd(&statm);
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    const char *second = strchr(text, ' ');
    return second != NULL ? strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

/* The high-water mark, or -1. */
static long marked_kb(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "\nVmHWM:");
    return line != NULL ? strtol(line + strlen("\nVmHWM:"), NULL, 10) : -1;
}

/*
 * The mark begins anew, unless it still is where it began last: nothing was asked for since
 * and nothing given back. -> what is resident, or -1: it cannot begin anew.
 */
static long begin_peak(long faults)
{
    static struct {
        long faults;
        long resident_kb;
    } last = {0, -1};
    long resident = resident_kb();
    if (resident > 0 && resident == last.resident_kb && faults == last.faults) {
        return resident;
    }
    last.resident_kb = reset_peak() ? resident : -1;
    last.faults = faults;
    return last.resident_kb;
}

static long peak_kb(const struct usage_mark *begin, const struct counted *now)
{
    if (begin->peak == USAGE_PEAK_OF_PROCESS) {
        return now->peak_kb;
    }
    if (begin->resident_kb > 0 && begin->faults == now->faults) {
        return begin->resident_kb;
    }
    long marked = marked_kb();
    return marked >= 0 ? marked : now->peak_kb;
}

/* ---- a cell ------------------------------------------------------------------------------ */

void usage_begin(enum usage_peak peak, struct usage_mark *ret_begin)
{
    struct counted now = counted_now(); /* first: what is asked for from here on counts */
    *ret_begin = (struct usage_mark){
        .peak = peak,
        .wall_s = wall_seconds(),
        .cpu_s = now.cpu_s,
        .faults = now.faults,
        .resident_kb = peak == USAGE_PEAK_OF_CELL ? begin_peak(now.faults) : -1,
    };
}

/* printf would ask the cell's locale for the point. */
static void put_seconds(struct buffer *json, const char *name, double seconds)
{
    long long digits = seconds > 0 ? (long long)(seconds * 1e4 + 0.5) : 0;
    buffer_put_text(json, name);
    buffer_put_number(json, digits / 10000);
    buffer_put_char(json, '.');
    for (long long unit = 1000; unit > 0; unit /= 10) {
        buffer_put_char(json, (char)('0' + digits / unit % 10));
    }
}

void usage_put(const struct usage *self, struct buffer *json)
{
    put_seconds(json, "{\"wall_s\":", self->wall_s);
    put_seconds(json, ",\"cpu_s\":", self->cpu_s);
    buffer_put_text(json, ",\"peak_rss_kb\":");
    buffer_put_number(json, self->peak_rss_kb);
    buffer_put_char(json, '}');
}

void usage_end(const struct usage_mark *begin, struct usage *ret_usage)
{
    struct counted now = counted_now();
    *ret_usage = (struct usage){
        .wall_s = wall_seconds() - begin->wall_s,
        .cpu_s = now.cpu_s - begin->cpu_s,
        .peak_rss_kb = peak_kb(begin, &now),
    };
}
