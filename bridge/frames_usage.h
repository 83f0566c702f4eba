#ifndef BRIDGE_FRAMES_USAGE_H
#define BRIDGE_FRAMES_USAGE_H

/*
 * What a cell used: wall time, CPU time of the process and of its children that
 * have ended, and the peak of resident memory since the cell began. Opens its
 * files without Python, so no audit hook takes them for the cell's.
 */

struct frames_usage {
    double wall_s;
    double cpu_s;
    long peak_rss_kb;
};

/* The marks of now; the peak of the process begins anew. */
void frames_usage_begin(struct frames_usage *ret_begin);

/* What was used since then. */
void frames_usage_end(const struct frames_usage *begin, struct frames_usage *ret_usage);

#endif
