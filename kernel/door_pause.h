#ifndef KERNEL_DOOR_PAUSE_H
#define KERNEL_DOOR_PAUSE_H

/*
 * When the worker's records stay where they are for a moment, because there is
 * no use in handling them now. The ring fills up meanwhile, and once it is full
 * the worker waits.
 */

#include <stdbool.h>

struct kernel;

/* Look again after DOOR_BACKLOG_MS. */
bool door_pause_wanted(struct kernel *kernel);

#endif
