#ifndef BRIDGE_FRAMES_STANDARD_H
#define BRIDGE_FRAMES_STANDARD_H

/*
 * fd 0, 1 and 2 of `einkorn frames`, which are the cells': 0 is /dev/null, 1 the
 * same as 2. What was behind 0 and 1 is the channel's (frames_channel.h).
 */

/* A second descriptor of that file, out of the way of cells where the limit allows it. -> fd,
 * -errno. */
int standard_duplicate(int fd);

/* Leaves them to the cells. Once. -> 0, -errno. */
int standard_leave_to_cells(void);

/* Those that a cell has closed are there again, so that no file of a cell's gets their numbers. */
void standard_mend(void);

#endif
