#ifndef KERNEL_DOOR_RECORDS_H
#define KERNEL_DOOR_RECORDS_H

/*
 * What the worker says (bridge/link.h, "records"), acted on: text to the output, messages
 * to iopub, answers to the lane.
 */

#include "bridge/link.h"

struct kernel;

enum {
    DOOR_START_TEXT_MAX = 64 << 10, /* bytes kept of what is written before Python is ready */
};

/* Acts on one item, which is borrowed for as long. -> 0, LINK_ECORRUPT: it breaks the format. */
int door_handle(struct kernel *kernel, const struct link_item *item);

#endif
