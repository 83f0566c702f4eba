#ifndef KERNEL_SOCKETS_H
#define KERNEL_SOCKETS_H

/*
 * The five sockets of a kernel (Messaging spec, "Introduction"). The loop's thread has
 * them, but for those that it gives to another (control.h).
 */

#include <czmq.h>

#include "kernel/connection.h"

enum {
    SOCKETS_LINGER_MS = 1000,     /* the last reply gets out */
    SOCKETS_BIND_MS = 2000,       /* how long a taken port is tried again */
    SOCKETS_STALL_MS = 30 * 1000, /* a client that takes nothing so long is disconnected */
    /*
     * What may wait for one client that does not read; further ones are lost to it
     * alone. libzmq learns in steps of half of it what has left.
     */
    SOCKETS_REPLIES_MAX = 10000,
    SOCKETS_BEATS_MAX = 64, /* of any size */
    /*
     * Messages of one client that ZeroMQ takes for us while we read none (lane.h);
     * further ones stay in the client's socket.
     */
    SOCKETS_REQUESTS_MAX = 100,
};

struct sockets {
    zsock_t *socket[CHANNELS];
};

/*
 * Readies CZMQ for them. Before any other call of it, which would take SIGINT, write to
 * stdout, and have one I/O thread for all.
 */
void sockets_prepare(void);

/*
 * Makes and binds all five at exactly the connection's addresses; a port 0 is
 * chosen and stored, with connection->changed set. A taken address is tried
 * again for SOCKETS_BIND_MS, sleeping in poll on `stop_fd` (signals), which
 * ends the trying.
 * -> 0, or -errno with one line for the user that names the address.
 */
int sockets_open(struct sockets *self, struct connection *connection, int stop_fd,
                 char ret_error[CONNECTION_ERROR_MAX]);

/* Closes all, and removes the files of ipc ones; what was sent still goes out for
 * SOCKETS_LINGER_MS. */
void sockets_close(struct sockets *self);

/* The libzmq socket of a channel, for zmq_msg_send and zmq_msg_recv. */
void *sockets_handle(const struct sockets *self, enum channel channel);

#endif
