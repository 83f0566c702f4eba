#ifndef KERNEL_CONTROL_H
#define KERNEL_CONTROL_H

/*
 * The thread that answers at once whatever the loop is doing: heartbeats, and
 * kernel_info_request on control (Messaging spec, "Heartbeat for kernels", "Kernel
 * info"). What else comes on control it passes on to the loop, and the loop's replies
 * to the clients.
 */

#include "kernel/session.h"
#include "kernel/sockets.h"
#include "kernel/wire.h"

struct control;

/*
 * Starts the thread, which has the sockets of control and heartbeat from now on. In their
 * place in `sockets` are its pipe, which the loop reads and writes as it would control's
 * socket, and NULL. `session` and `version` (Python's) are what it answers with, copied.
 * Of `connection` the key is used, which signer_new has taken before.
 * -> 0, -errno: there can be no thread, and the sockets are as before.
 */
int control_new(struct sockets *sockets, const struct connection *connection,
                const struct session *session, const char *version, struct control **ret_control);

/* Answers with these from now on. NULL: there is no thread. */
void control_tell(struct control *self, const struct session *session, const char *version);

/*
 * The next message of control, for the loop: as wire_receive. `ret_replied`, set unless there
 * was none: the thread has replied to it, and busy and idle are what is left to do.
 */
int control_receive(struct control *self, struct wire_message *ret_message, bool *ret_replied);

/* The loop is done with a message to which the thread had not replied. */
void control_done(struct control *self);

/* Ends the thread when it has sent what was passed to it, and gives the sockets back. */
void control_destroy(struct control **self_p);

#endif
