#ifndef BRIDGE_USAGE_H
#define BRIDGE_USAGE_H

/*
 * What a cell used: wall time, CPU time of the process and of its children that
 * have ended, and the peak of resident memory. Opens its files without Python, so
 * no audit hook takes them for the cell's.
 */

enum usage_peak {
    USAGE_PEAK_OF_CELL,    /* since the cell began, where the system lets it begin anew */
    USAGE_PEAK_OF_PROCESS, /* since the process began: costs nothing */
};

struct usage {
    enum usage_peak peak;
    double wall_s;
    double cpu_s;
    long peak_rss_kb;
};

/* The marks of now. */
void usage_begin(enum usage_peak peak, struct usage *ret_begin);

/* What was used since then. */
void usage_end(const struct usage *begin, struct usage *ret_usage);

#endif
