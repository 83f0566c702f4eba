#ifndef KERNEL_CONNECTION_FIELDS_H
#define KERNEL_CONNECTION_FIELDS_H

/*
 * For connection.c only: what may stand in the file.
 */

#include <jansson.h>

#include "kernel/connection.h"

/* What every step needs to say what is wrong. */
struct connection_reader {
    const char *name; /* of the file, as the user wrote it */
    json_t *json;     /* its object */
    char *error;      /* CONNECTION_ERROR_MAX */
};

/* Whether it asks for ports instead of naming them. */
bool connection_is_registration(const struct connection_reader *self);

/* One line for the user. -> `code`, to be returned. */
int connection_fail(const struct connection_reader *self, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A path that another working directory does not change. Owned. */
char *connection_absolute(const char *path);

/*
 * Fills in what the object says; `connection` is released by the caller, also
 * on failure. libsodium is initialised. -> 0, -EINVAL and a line.
 */
int connection_take_apart(const struct connection_reader *self, struct connection *connection);

#endif
