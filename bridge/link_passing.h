#ifndef BRIDGE_LINK_PASSING_H
#define BRIDGE_LINK_PASSING_H

/*
 * An fd that goes over the request socket together with a few bytes, in
 * either direction. Internal to the door.
 */

#include <sys/types.h>

#include "bridge/slice.h"

/*
 * Sends the bytes and the fd, without blocking; the fd stays the caller's. A
 * stream socket takes bytes as few as these whole or not at all. -> 0, -errno.
 */
int link_passing_send(int socket, int fd, struct slice bytes);

/*
 * Receives at most n bytes, and the fd that came with them: CLOEXEC and the
 * caller's; -1: none came; -EMFILE: one did, and this process has no place for
 * it; LINK_ECORRUPT: several did (they are closed). The reading stops behind
 * bytes that brought an fd, so the next one's stays with its own bytes.
 * `flags` as for recvmsg. -> bytes, 0 at the end, -errno.
 */
ssize_t link_passing_receive(int socket, void *p, size_t n, int flags, int *ret_fd);

#endif
