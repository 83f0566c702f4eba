#ifndef KERNEL_ROUTER_H
#define KERNEL_ROUTER_H

/*
 * From sockets to request handlers (Messaging spec, "Messages on the shell
 * channel", "Messages on the control channel").
 */

#include <czmq.h>

struct kernel;

/* Puts the readers of the sockets into the loop, but for the heartbeat's (control.h). */
void router_start(struct kernel *kernel);

/* Stops and goes on reading shell: call it when what waits in the lane has become more or less. */
void router_pace_shell(struct kernel *kernel);

/* Handles all that lies in shell and control now. */
void router_drain(struct kernel *kernel);

#endif
