#ifndef KERNEL_REGISTRATION_H
#define KERNEL_REGISTRATION_H

/*
 * The startup handshake (JEP 66, "Kernel Handshaking pattern"; Messaging spec
 * 5.6, "Startup handshake"): the kernel has chosen its ports, tells them to the
 * launcher's registration socket, and ends if that does not acknowledge them.
 *
 * Two forms are spoken. The specification's, from a DEALER to a ROUTER:
 *
 *     <IDS|MSG>, HMAC of the next frame, {"kernel_id": …, "shell_port": "5001", …}
 *     <IDS|MSG>, HMAC of the next frame, ACK
 *
 * That of Posit's supervisor (kallichore; also ark), from a REQ to a REP: a whole
 * Jupyter message `handshake_request` with the five ports as numbers, answered by
 * `handshake_reply` with {"status": "ok"}. connection.h says how the files differ.
 */

#include <czmq.h>

struct kernel;

enum {
    REGISTRATION_ACK_MS = 5000,         /* how long the acknowledgement is waited for */
    REGISTRATION_FRAME_MAX = 64 * 1024, /* bytes of a frame of the answer */
};

struct registration {
    zsock_t *socket; /* NULL: no handshake is under way */
    int timer;       /* in the kernel's loop, while there is a socket */
};

/*
 * Reports the ports, and waits for the acknowledgement in the loop; does nothing
 * unless there was a registration file. The sockets are bound, the loop is there.
 * Where no acknowledgement comes in time, it is refused, or the address cannot be
 * connected to: one line in the log, and the kernel ends with status 1. An
 * answer that is not signed or means nothing is logged and passed over.
 */
void registration_start(struct kernel *kernel);

/* Closes the socket; while the loop is there. */
void registration_release(struct kernel *kernel);

#endif
