#ifndef BRIDGE_USAGE_H
#define BRIDGE_USAGE_H

/*
 * What a cell used: wall time, CPU time of the process and of its children that
 * have ended, and the peak of resident memory. Opens its files without Python, so
 * no audit hook takes them for the cell's.
 */

#include "bridge/buffer.h"

enum usage_peak {
    USAGE_PEAK_OF_CELL,    /* since the cell began, where the system lets it begin anew */
    USAGE_PEAK_OF_PROCESS, /* since the process began: costs nothing */
};

/* How things stood when a cell began. */
struct usage_mark {
    enum usage_peak peak;
    double wall_s;
    double cpu_s;
    long faults;      /* pages that were asked for */
    long resident_kb; /* -1: unknown, or the peak could not begin anew */
};

struct usage {
    double wall_s;
    double cpu_s;
    long peak_rss_kb;
};

/* The marks of now. */
void usage_begin(enum usage_peak peak, struct usage_mark *ret_begin);

/* What was used since then. */
void usage_end(const struct usage_mark *begin, struct usage *ret_usage);

/* Appends {"wall_s":…,"cpu_s":…,"peak_rss_kb":…}, times in seconds with four digits. */
void usage_put(const struct usage *self, struct buffer *json);

#endif
