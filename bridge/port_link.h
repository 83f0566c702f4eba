#ifndef BRIDGE_PORT_LINK_H
#define BRIDGE_PORT_LINK_H

/*
 * The port of a Jupyter kernel: the door, as link.h describes it.
 */

#include "bridge/link.h"
#include "bridge/port.h"

extern const struct port port_link;

/* Takes the worker's end of the door. Needs no Python. -> 0, -errno, LINK_ECORRUPT. */
int port_link_init(const struct link_fds *fds);

struct link_page *port_link_page(void);

/* Tells the kernel that requests are served from now on, and Python's version. -> 0, -1. */
int py_port_link_ready(const char *python_version);

/* Tells the kernel what it needs to know for the history, see LINK_HISTORY. -> 0, -1. */
int py_port_link_history(uint64_t request, const struct slice *part, size_t count);

/*
 * The next request of a kind. -> 0, LINK_ECLOSED: the end,
 * LINK_EINTERRUPTED with an exception set, other errors of link_reader_wait.
 * poll: the same without waiting, or -EAGAIN.
 */
int py_port_link_wait(enum link_request_kind kind, struct link_request **ret_request);
int port_link_poll(enum link_request_kind kind, struct link_request **ret_request);

/* Has the kernel closed the way? What was filed before that is not wanted any more. */
bool port_link_has_ended(void);

/* Readable when bytes of a request are there. */
int port_link_fd(void);

#endif
