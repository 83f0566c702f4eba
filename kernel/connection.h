#ifndef KERNEL_CONNECTION_H
#define KERNEL_CONNECTION_H

/*
 * The connection file (Jupyter client docs, "Connection files").
 */

#include <stdbool.h>
#include <stddef.h>

enum channel { CHANNEL_SHELL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_HB, CHANNELS };
extern const char *const channel_names[CHANNELS]; /* "shell", … */

struct connection {
    char *path;         /* of the file, absolute; always set */
    bool created;       /* there was no file: connection_write makes it, release removes it */
    bool written;       /* by connection_write */
    bool changed;       /* ports were chosen: connection_write is due */
    char *transport;    /* "tcp" or "ipc" */
    char *ip;           /* as in the file; for ipc the path's prefix, made absolute */
    int port[CHANNELS]; /* 0: to be chosen */
    char *key;          /* may contain any bytes but NUL; "": unsigned. In locked memory */
    char *scheme;       /* "hmac-sha256" */
    char *kernel_name;  /* may be NULL */
    void *json;         /* the file's object (jansson), so unknown keys are kept */
};

enum {
    CONNECTION_ERROR_MAX = 512,
    CONNECTION_ENDPOINT_MAX = 300, /* room for any endpoint and its NUL */
};

/*
 * Reads the file. What it may leave out: transport (tcp), ip (127.0.0.1; not
 * with ipc), signature_scheme (hmac-sha256), key (none). If `path` is NULL or no
 * file is there: a fresh connection on 127.0.0.1 with a random key and ports 0,
 * `created` and `changed`, to be written when the ports are known (path NULL:
 * kernel-<pid>.json in the Jupyter runtime directory, which is made, 0700).
 * -> 0, -EINVAL or -errno with one line for the user, which names file and key.
 */
int connection_read(const char *path, struct connection *ret_connection,
                    char ret_error[CONNECTION_ERROR_MAX]);

/*
 * Writes the ports into it, and everything else as it was (0600, over a
 * temporary file and rename; through a symbolic link). Clears `changed`.
 * -> 0, -errno and a line.
 */
int connection_write(struct connection *self, char ret_error[CONNECTION_ERROR_MAX]);

/*
 * "tcp://127.0.0.1:5555", "tcp://[::1]:5", "tcp://127.0.0.1:*" for port 0,
 * "ipc:///path-1" (a port 0 must have become a number before).
 */
void connection_endpoint(const struct connection *self, enum channel channel, char *ret_text,
                         size_t size);

/* Removes the file if we made it; frees everything, wipes the key. NULL fields are fine. */
void connection_release(struct connection *self);

#endif
