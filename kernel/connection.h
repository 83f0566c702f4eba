#ifndef KERNEL_CONNECTION_H
#define KERNEL_CONNECTION_H

/*
 * The connection file (Jupyter client docs, "Connection files"), and the
 * registration file that may stand in its place (JEP 66, "Kernel Handshaking
 * pattern"; Jupyter client docs, "Registration file"): it says where to report
 * the ports that the kernel chose.
 */

#include <stdbool.h>
#include <stddef.h>

enum channel { CHANNEL_SHELL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_HB, CHANNELS };
extern const char *const channel_names[CHANNELS]; /* "shell", … */

struct connection {
    char *path;         /* of the file, absolute; always set */
    bool created;       /* it is ours: connection_write makes it, release removes it */
    bool written;       /* by connection_write */
    bool changed;       /* ports were chosen: connection_write is due */
    char *transport;    /* "tcp" or "ipc" */
    char *ip;           /* as in the file; for ipc the path's prefix, made absolute */
    int port[CHANNELS]; /* 0: to be chosen */
    char *key;          /* may contain any bytes but NUL; "": unsigned. In locked memory */
    char *scheme;       /* "hmac-sha256" */
    char *kernel_name;  /* may be NULL */
    void *json;         /* the file's object (jansson), so unknown keys are kept */

    int registration_port; /* of the launcher's socket; 0: it was no registration file */
    char *registration_ip; /* likewise, as `ip`; NULL */
    char *kernel_id;       /* the launcher's name for us; NULL: none, it speaks the dialect of
                              Posit's supervisor (registration.h) */
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
 *
 * A registration file is known by its registration_port. With kernel_id and
 * registration_ip it is the specification's; with neither it is the one of
 * Posit's supervisor, where ip is the launcher's address and ours. It gives ports
 * 0; its ip may be left out (the launcher's), its key be null (none). The file
 * itself is never written to: `path` is kernel-<kernel_id>.json, or
 * kernel-<pid>.json where there is no id or that is the registration file, in
 * the runtime directory, `created`. Where there is no such directory, `path` is
 * the registration file and connection_write fails.
 *
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

/* The same of the launcher's registration socket, where there is one. */
void connection_registration_endpoint(const struct connection *self, char *ret_text, size_t size);

/* Removes the file if we made it; frees everything, wipes the key. NULL fields are fine. */
void connection_release(struct connection *self);

#endif
