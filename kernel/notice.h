#ifndef KERNEL_NOTICE_H
#define KERNEL_NOTICE_H

/*
 * What the kernel itself has to say to the user of a request, on its stderr.
 */

#include "bridge/slice.h"

struct kernel;
struct origin;

/*
 * Publishes whole lines of UTF-8 as a stream message of their own, after all
 * that the request has written so far. They are not subject to --max-output: who
 * writes too much must hear of it all the same.
 */
void notice_publish(struct kernel *kernel, const struct origin *origin, struct slice text);

#endif
