#ifndef KERNEL_MESSAGE_H
#define KERNEL_MESSAGE_H

/*
 * Messages for one client: replies and input requests (Messaging spec, "The
 * wire protocol").
 */

#include "kernel/origin.h"
#include "kernel/session.h"

/*
 * Sends a message to the client that `to` came from, with its identity frames
 * and its header as parent. Metadata and content are JSON objects as text.
 * -> 0, -errno; -EHOSTUNREACH: on a mandatory ROUTER, when that client has no
 * such socket. Where the socket is not mandatory a vanished client is no error.
 */
int message_send(void *socket, struct session *session, struct signer *signer,
                 const struct origin *to, const char *type, struct slice metadata,
                 struct slice content, struct buffer *ret_msg_id);

/*
 * Tells of a message (`what`) that message_send or wire_send could not send: `r` is what that
 * gave, and 0 is fine. `dropped` counts what clients did not take (-EAGAIN).
 */
void message_tell_lost(int r, const char *what, uint64_t *dropped);

#endif
