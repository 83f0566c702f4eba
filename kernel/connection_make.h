#ifndef KERNEL_CONNECTION_MAKE_H
#define KERNEL_CONNECTION_MAKE_H

/*
 * For connection.c only.
 */

#include "kernel/connection.h"

/*
 * A fresh connection: 127.0.0.1, a random key, ports 0, nothing on disk yet but
 * the runtime directory, where its file will be if `path` is NULL. `path` is
 * absolute. libsodium is initialised. -> 0, -errno and a line.
 */
int connection_make(const char *path, struct connection *ret_connection,
                    char ret_error[CONNECTION_ERROR_MAX]);

/*
 * Makes what was read from a registration file a connection with a file of its
 * own, for other clients (JEP 66: "should write its connection information in a
 * connection file"); connection.h says where.
 */
void connection_become_own(struct connection *self);

#endif
