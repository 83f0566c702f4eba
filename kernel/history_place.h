#ifndef KERNEL_HISTORY_PLACE_H
#define KERNEL_HISTORY_PLACE_H

/*
 * Which file the history goes to: IPython's own,
 * $IPYTHONDIR/profile_default/history.sqlite, unless options say otherwise.
 */

#include <stdbool.h>

struct options;

/* Whether there shall be a file at all. */
bool history_place_wanted(const struct options *options);

/*
 * The file's path; "~" is the user's home. May ask the system who the user is,
 * which can take its time. -> the caller's to free; NULL: no home is known.
 */
char *history_place_path(const struct options *options);

/*
 * Makes the directories that the file needs, for the user alone. -> 0, -errno:
 * one of them cannot be made.
 */
int history_place_make(const char *path);

#endif
