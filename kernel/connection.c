/*
 * The connection file.
 *
 * Runs in the kernel process, on its one thread, before the sockets are there.
 * Here the file is read and its addresses are put together; what may stand in it
 * is in connection_fields.c, and connection_make.c has the other half, writing.
 * Owns everything in a struct connection; the key lies in locked memory, the
 * text read is wiped.
 */

#include "kernel/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/check.h"
#include "bridge/xalloc.h"
#include "kernel/connection_fields.h"
#include "kernel/connection_make.h"

enum { FILE_SIZE_MAX = 1 << 20 };

const char *const channel_names[CHANNELS] = {
    [CHANNEL_SHELL] = "shell",     [CHANNEL_IOPUB] = "iopub", [CHANNEL_STDIN] = "stdin",
    [CHANNEL_CONTROL] = "control", [CHANNEL_HB] = "hb",
};

/* ---- reading ------------------------------------------------------------------- */

/* Reads what was there when the file was opened. -> 0, an error with a line. */
static int read_fd(const struct connection_reader *self, int fd, struct buffer *buffer)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return connection_fail(self, -EINVAL, "not a regular file");
    }
    if (status.st_size > FILE_SIZE_MAX) {
        return connection_fail(self, -EINVAL, "larger than 1 MiB");
    }
    /* In one piece: a buffer that grows would leave copies of the key behind. */
    size_t size = (size_t)status.st_size;
    buffer_reserve(buffer, size);
    while (buffer->n < size) {
        ssize_t n = read(fd, buffer->p + buffer->n, size - buffer->n);
        if (n < 0 && errno != EINTR) {
            int error = -errno;
            return connection_fail(self, error, "%s", strerror(-error));
        }
        if (n == 0) {
            break;
        }
        buffer->n += n > 0 ? (size_t)n : 0;
    }
    return buffer->n > 0 ? 0 : connection_fail(self, -EINVAL, "the file is empty");
}

/* -> 0, -ENOENT without a line, an error with one. */
static int read_file(const struct connection_reader *self, struct buffer *buffer)
{
    /* O_NONBLOCK: a FIFO is refused, not waited for. */
    int fd = open(self->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int error = -errno;
        return error == -ENOENT ? error : connection_fail(self, error, "%s", strerror(-error));
    }
    int error = read_fd(self, fd, buffer);
    (void)close(fd);
    return error;
}

/* -> 0 and the file's object, owned. */
static int parse(const struct connection_reader *self, struct slice text, json_t **ret_json)
{
    json_error_t error;
    json_t *json = json_loadb((const char *)text.p, text.n, JSON_DECODE_ANY, &error);
    if (json == NULL) {
        /* jansson shows what stands at the place, and that may be the key. */
        char *near = strstr(error.text, " near ");
        if (near != NULL) {
            *near = '\0';
        }
        return connection_fail(self, -EINVAL, "line %d: not JSON: %s", error.line, error.text);
    }
    if (!json_is_object(json)) {
        json_decref(json);
        return connection_fail(self, -EINVAL, "not a JSON object");
    }
    *ret_json = json;
    return 0;
}

static int read_existing(struct connection_reader *self, struct connection *ret_connection)
{
    struct buffer text = BUFFER_INIT;
    json_t *json = NULL;
    int error = read_file(self, &text);
    if (error == 0) {
        error = parse(self, buffer_slice(&text), &json);
    }
    if (text.n > 0) {
        sodium_memzero(text.p, text.n);
    }
    buffer_release(&text);
    if (error != 0) {
        return error;
    }
    self->json = json;
    struct connection connection = {.path = connection_absolute(self->name), .json = json};
    error = connection_take_apart(self, &connection);
    if (error != 0) {
        connection_release(&connection);
        return error;
    }
    if (connection_is_registration(self)) {
        connection_become_own(&connection);
    }
    *ret_connection = connection;
    return 0;
}

int connection_read(const char *path, struct connection *ret_connection,
                    char ret_error[CONNECTION_ERROR_MAX])
{
    CHECK(sodium_init() >= 0);
    if (path == NULL) {
        return connection_make(NULL, ret_connection, ret_error);
    }
    struct connection_reader reader = {.name = path, .error = ret_error};
    int error = read_existing(&reader, ret_connection);
    if (error != -ENOENT) {
        return error;
    }
    char *full = connection_absolute(path);
    error = connection_make(full, ret_connection, ret_error);
    free(full);
    return error;
}

/* ---- using ------------------------------------------------------------------------- */

static void put_endpoint(const char *transport, const char *host, int port, char *ret_text,
                         size_t size)
{
    int n;
    if (strcmp(transport, "ipc") == 0) {
        n = snprintf(ret_text, size, "ipc://%s-%d", host, port);
    } else {
        bool bare_ipv6 = strchr(host, ':') != NULL && host[0] != '[';
        const char *open = bare_ipv6 ? "[" : "", *close = bare_ipv6 ? "]" : "";
        n = port == 0 ? snprintf(ret_text, size, "tcp://%s%s%s:*", open, host, close)
                      : snprintf(ret_text, size, "tcp://%s%s%s:%d", open, host, close, port);
    }
    CHECK(n > 0 && (size_t)n < size);
}

void connection_endpoint(const struct connection *self, enum channel channel, char *ret_text,
                         size_t size)
{
    put_endpoint(self->transport, self->ip, self->port[channel], ret_text, size);
}

void connection_registration_endpoint(const struct connection *self, char *ret_text, size_t size)
{
    put_endpoint(self->transport, self->registration_ip, self->registration_port, ret_text, size);
}

void connection_release(struct connection *self)
{
    if (self->created && self->written) {
        (void)unlink(self->path);
    }
    json_decref(self->json);
    sodium_free(self->key); /* wipes it */
    free(self->path);
    free(self->transport);
    free(self->ip);
    free(self->scheme);
    free(self->kernel_name);
    free(self->registration_ip);
    free(self->kernel_id);
    *self = (struct connection){0};
}
