/*
 * The connection file.
 *
 * Runs in the kernel process, on its one thread, before the sockets are there.
 * Reading is a table of what a file may say, each row with one sentence for
 * what can be wrong, because this is the first thing that fails when a launcher
 * is set up badly. connection_make.c has the other half, writing. Owns
 * everything in a struct connection; the key lies in locked memory, the text
 * read is wiped.
 */

#include "kernel/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/check.h"
#include "bridge/xalloc.h"
#include "kernel/connection_make.h"
#include "kernel/sign.h"

enum {
    FILE_SIZE_MAX = 1 << 20,
    HOST_MAX = 255, /* characters of a tcp address */
    PORT_MAX = 65535,
};

const char *const channel_names[CHANNELS] = {
    [CHANNEL_SHELL] = "shell",     [CHANNEL_IOPUB] = "iopub", [CHANNEL_STDIN] = "stdin",
    [CHANNEL_CONTROL] = "control", [CHANNEL_HB] = "hb",
};

/* What every step needs to say what is wrong. */
struct reader {
    const char *name; /* of the file, as the user wrote it */
    const json_t *json;
    char *error; /* CONNECTION_ERROR_MAX */
};

/* One line for the user. -> `code`, to be returned. */
__attribute__((format(printf, 3, 4))) static int fail(const struct reader *self, int code,
                                                      const char *format, ...)
{
    int n = snprintf(self->error, CONNECTION_ERROR_MAX, "connection file %.300s: ", self->name);
    CHECK(n > 0 && n < CONNECTION_ERROR_MAX);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->error + n, CONNECTION_ERROR_MAX - (size_t)n, format, arguments);
    va_end(arguments);
    return code;
}

/* A path that another working directory does not change. Owned. */
static char *absolute(const char *path)
{
    char *directory = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (directory == NULL) {
        return xstrdup(path);
    }
    struct buffer buffer = BUFFER_INIT;
    buffer_printf(&buffer, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, path);
    buffer_put_char(&buffer, '\0');
    free(directory);
    size_t n;
    return (char *)buffer_detach(&buffer, &n);
}

/* A copy in locked memory. */
static char *secret(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = sodium_malloc(n);
    CHECK(copy != NULL);
    memcpy(copy, text, n);
    return copy;
}

/* ---- reading ------------------------------------------------------------------- */

/* Reads what was there when the file was opened. -> 0, an error with a line. */
static int read_fd(const struct reader *self, int fd, struct buffer *buffer)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(self, -EINVAL, "not a regular file");
    }
    if (status.st_size > FILE_SIZE_MAX) {
        return fail(self, -EINVAL, "larger than 1 MiB");
    }
    /* In one piece: a buffer that grows would leave copies of the key behind. */
    size_t size = (size_t)status.st_size;
    buffer_reserve(buffer, size);
    while (buffer->n < size) {
        ssize_t n = read(fd, buffer->p + buffer->n, size - buffer->n);
        if (n < 0 && errno != EINTR) {
            int error = -errno;
            return fail(self, error, "%s", strerror(-error));
        }
        if (n == 0) {
            break;
        }
        buffer->n += n > 0 ? (size_t)n : 0;
    }
    return buffer->n > 0 ? 0 : fail(self, -EINVAL, "the file is empty");
}

/* -> 0, -ENOENT without a line, an error with one. */
static int read_file(const struct reader *self, struct buffer *buffer)
{
    /* O_NONBLOCK: a FIFO is refused, not waited for. */
    int fd = open(self->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int error = -errno;
        return error == -ENOENT ? error : fail(self, error, "%s", strerror(-error));
    }
    int error = read_fd(self, fd, buffer);
    (void)close(fd);
    return error;
}

/* -> 0 and the file's object, owned. */
static int parse(const struct reader *self, struct slice text, json_t **ret_json)
{
    json_error_t error;
    json_t *json = json_loadb((const char *)text.p, text.n, JSON_DECODE_ANY, &error);
    if (json == NULL) {
        /* jansson shows what stands at the place, and that may be the key. */
        char *near = strstr(error.text, " near ");
        if (near != NULL) {
            *near = '\0';
        }
        return fail(self, -EINVAL, "line %d: not JSON: %s", error.line, error.text);
    }
    if (!json_is_object(json)) {
        json_decref(json);
        return fail(self, -EINVAL, "not a JSON object");
    }
    *ret_json = json;
    return 0;
}

/* A text member, borrowed, or `otherwise` where there is none. */
static int get_text(const struct reader *self, const char *name, const char *otherwise,
                    const char **ret_text)
{
    const json_t *value = json_object_get(self->json, name);
    if (value != NULL && !json_is_string(value)) {
        return fail(self, -EINVAL, "%s must be a string", name);
    }
    *ret_text = value != NULL ? json_string_value(value) : otherwise;
    return 0;
}

static int get_transport(const struct reader *self, struct connection *connection)
{
    const char *text = "";
    int error = get_text(self, "transport", "tcp", &text);
    if (error != 0) {
        return error;
    }
    if (strcmp(text, "tcp") != 0 && strcmp(text, "ipc") != 0) {
        return fail(self, -EINVAL, "unknown transport \"%.32s\" (tcp and ipc are known)", text);
    }
    connection->transport = xstrdup(text);
    return 0;
}

static int get_port(const struct reader *self, const char *channel, int *ret_port)
{
    char name[16];
    (void)snprintf(name, sizeof name, "%s_port", channel);
    const json_t *value = json_object_get(self->json, name);
    if (value == NULL) {
        return fail(self, -EINVAL, "%s is missing", name);
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > PORT_MAX) {
        return fail(self, -EINVAL, "%s must be an integer from 0 to %d", name, PORT_MAX);
    }
    *ret_port = (int)number;
    return 0;
}

/* The first of two channels of one port could be bound, the second never. */
static int check_ports_differ(const struct reader *self, const struct connection *connection)
{
    for (int a = 0; a < CHANNELS; a++) {
        for (int b = 0; b < a; b++) {
            if (connection->port[a] != 0 && connection->port[a] == connection->port[b]) {
                return fail(self, -EINVAL, "%s_port and %s_port are both %d", channel_names[b],
                            channel_names[a], connection->port[a]);
            }
        }
    }
    return 0;
}

static int get_ports(const struct reader *self, struct connection *connection)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        int error = get_port(self, channel_names[channel], &connection->port[channel]);
        if (error != 0) {
            return error;
        }
    }
    return check_ports_differ(self, connection);
}

/* The kernel has room for 107 bytes of a socket's path; a number to be chosen may have five. */
static int check_path(const struct reader *self, const struct connection *connection)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        int port = connection->port[channel] != 0 ? connection->port[channel] : PORT_MAX;
        int n = snprintf(NULL, 0, "%s-%d", connection->ip, port);
        if (n < 0 || (size_t)n >= sizeof((struct sockaddr_un *)NULL)->sun_path) {
            return fail(
                self, -EINVAL, "ip: the path of the %s socket is too long (%d bytes, at most %zu)",
                channel_names[channel], n, sizeof((struct sockaddr_un *)NULL)->sun_path - 1);
        }
    }
    return 0;
}

static int get_ip(const struct reader *self, struct connection *connection)
{
    bool ipc = strcmp(connection->transport, "ipc") == 0;
    const char *text = "";
    int error = get_text(self, "ip", ipc ? NULL : "127.0.0.1", &text);
    if (error != 0) {
        return error;
    }
    if (text == NULL || text[0] == '\0') {
        return fail(self, -EINVAL, text == NULL ? "ip is missing" : "ip is empty");
    }
    if (ipc) {
        /* ZeroMQ takes "@name" for a name in the abstract space, which is no path. */
        connection->ip = text[0] == '@' ? xstrdup(text) : absolute(text);
        return check_path(self, connection);
    }
    if (strlen(text) > HOST_MAX) {
        return fail(self, -EINVAL, "ip is longer than %d characters", HOST_MAX);
    }
    connection->ip = xstrdup(text);
    return 0;
}

static int get_signing(const struct reader *self, struct connection *connection)
{
    const char *key = "", *scheme = "";
    int error = get_text(self, "key", "", &key);
    if (error == 0) {
        error = get_text(self, "signature_scheme", "hmac-sha256", &scheme);
    }
    if (error != 0) {
        return error;
    }
    if (strlen(key) > SIGN_KEY_MAX) {
        return fail(self, -EINVAL, "key is longer than %d bytes", SIGN_KEY_MAX);
    }
    connection->key = secret(key);
    connection->scheme = xstrdup(scheme);
    return 0;
}

static int get_kernel_name(const struct reader *self, struct connection *connection)
{
    const char *name = json_string_value(json_object_get(self->json, "kernel_name"));
    connection->kernel_name = name != NULL ? xstrdup(name) : NULL;
    return 0;
}

/* In order: the ip's rules depend on the transport, and a path's length on the ports. */
static int (*const steps[])(const struct reader *self, struct connection *connection) = {
    get_transport, get_ports, get_ip, get_signing, get_kernel_name,
};

static int take_apart(const struct reader *self, struct connection *connection)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int error = steps[i](self, connection);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int read_existing(struct reader *self, struct connection *ret_connection)
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
    struct connection connection = {.path = absolute(self->name), .json = json};
    error = take_apart(self, &connection);
    if (error != 0) {
        connection_release(&connection);
        return error;
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
    struct reader reader = {.name = path, .error = ret_error};
    int error = read_existing(&reader, ret_connection);
    if (error != -ENOENT) {
        return error;
    }
    char *full = absolute(path);
    error = connection_make(full, ret_connection, ret_error);
    free(full);
    return error;
}

/* ---- using ------------------------------------------------------------------------- */

void connection_endpoint(const struct connection *self, enum channel channel, char *ret_text,
                         size_t size)
{
    int port = self->port[channel];
    int n;
    if (strcmp(self->transport, "ipc") == 0) {
        n = snprintf(ret_text, size, "ipc://%s-%d", self->ip, port);
    } else {
        bool bare_ipv6 = strchr(self->ip, ':') != NULL && self->ip[0] != '[';
        const char *open = bare_ipv6 ? "[" : "", *close = bare_ipv6 ? "]" : "";
        n = port == 0 ? snprintf(ret_text, size, "tcp://%s%s%s:*", open, self->ip, close)
                      : snprintf(ret_text, size, "tcp://%s%s%s:%d", open, self->ip, close, port);
    }
    CHECK(n > 0 && (size_t)n < size);
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
    *self = (struct connection){0};
}
