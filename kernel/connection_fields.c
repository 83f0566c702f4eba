/*
 * The fields of connection files and of registration files.
 *
 * Runs in the kernel process, on its one thread, before the sockets are there.
 * A table of what a file may say, each step with one sentence for what can be
 * wrong, because this is the first thing that fails when a launcher is set up
 * badly. Owns nothing; what it makes is the caller's connection.
 */

#include "kernel/connection_fields.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/check.h"
#include "bridge/xalloc.h"
#include "kernel/sign.h"

enum {
    HOST_MAX = 255, /* characters of a tcp address */
    PORT_MAX = 65535,
    KERNEL_ID_MAX = 128, /* it becomes part of a file's name */
    PATH_ROOM = sizeof((struct sockaddr_un *)NULL)->sun_path,
};

bool connection_is_registration(const struct connection_reader *self)
{
    return json_object_get(self->json, "registration_port") != NULL;
}

int connection_fail(const struct connection_reader *self, int code, const char *format, ...)
{
    const char *kind = connection_is_registration(self) ? "registration" : "connection";
    int n = snprintf(self->error, CONNECTION_ERROR_MAX, "%s file %.300s: ", kind, self->name);
    CHECK(n > 0 && n < CONNECTION_ERROR_MAX);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(self->error + n, CONNECTION_ERROR_MAX - (size_t)n, format, arguments);
    va_end(arguments);
    return code;
}

char *connection_absolute(const char *path)
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

/* A text member, borrowed, or `otherwise` where there is none. */
static int get_text(const struct connection_reader *self, const char *name, const char *otherwise,
                    const char **ret_text)
{
    const json_t *value = json_object_get(self->json, name);
    if (value != NULL && !json_is_string(value)) {
        return connection_fail(self, -EINVAL, "%s must be a string", name);
    }
    *ret_text = value != NULL ? json_string_value(value) : otherwise;
    return 0;
}

static bool is_ipc(const struct connection *connection)
{
    return strcmp(connection->transport, "ipc") == 0;
}

static int get_transport(const struct connection_reader *self, struct connection *connection)
{
    const char *text = "";
    int error = get_text(self, "transport", "tcp", &text);
    if (error != 0) {
        return error;
    }
    if (strcmp(text, "tcp") != 0 && strcmp(text, "ipc") != 0) {
        return connection_fail(self, -EINVAL, "unknown transport \"%.32s\" (tcp and ipc are known)",
                               text);
    }
    connection->transport = xstrdup(text);
    return 0;
}

/* One row of five, or the launcher's own, which cannot be left to be chosen. */
static int get_port(const struct connection_reader *self, const char *of, int least, int *ret_port)
{
    char name[24];
    (void)snprintf(name, sizeof name, "%s_port", of);
    const json_t *value = json_object_get(self->json, name);
    if (value == NULL) {
        return connection_fail(self, -EINVAL, "%s is missing", name);
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < least || number > PORT_MAX) {
        return connection_fail(self, -EINVAL, "%s must be an integer from %d to %d", name, least,
                               PORT_MAX);
    }
    *ret_port = (int)number;
    return 0;
}

/* The first of two channels of one port could be bound, the second never. */
static int check_ports_differ(const struct connection_reader *self,
                              const struct connection *connection)
{
    for (int a = 0; a < CHANNELS; a++) {
        for (int b = 0; b < a; b++) {
            if (connection->port[a] != 0 && connection->port[a] == connection->port[b]) {
                return connection_fail(self, -EINVAL, "%s_port and %s_port are both %d",
                                       channel_names[b], channel_names[a], connection->port[a]);
            }
        }
    }
    return 0;
}

static int get_ports(const struct connection_reader *self, struct connection *connection)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        int error = get_port(self, channel_names[channel], 0, &connection->port[channel]);
        if (error != 0) {
            return error;
        }
    }
    return check_ports_differ(self, connection);
}

/* The kernel has room for 107 bytes of a socket's path; a number to be chosen may have five. */
static int check_path(const struct connection_reader *self, const char *name, const char *prefix,
                      const char *socket, int port)
{
    int n = snprintf(NULL, 0, "%s-%d", prefix, port != 0 ? port : PORT_MAX);
    if (n < 0 || (size_t)n >= PATH_ROOM) {
        return connection_fail(self, -EINVAL,
                               "%s: the path of the %s socket is too long (%d bytes, at most %d)",
                               name, socket, n, (int)PATH_ROOM - 1);
    }
    return 0;
}

/* An address, or the beginning of the paths of ipc sockets; owned. `otherwise` may be NULL. */
static int get_host(const struct connection_reader *self, const struct connection *connection,
                    const char *name, const char *otherwise, char **ret_host)
{
    const char *text = "";
    int error = get_text(self, name, otherwise, &text);
    if (error != 0) {
        return error;
    }
    if (text == NULL || text[0] == '\0') {
        return connection_fail(self, -EINVAL, "%s is %s", name, text == NULL ? "missing" : "empty");
    }
    if (is_ipc(connection)) {
        /* ZeroMQ takes "@name" for a name in the abstract space, which is no path. */
        *ret_host = text[0] == '@' ? xstrdup(text) : connection_absolute(text);
        return 0;
    }
    if (strlen(text) > HOST_MAX) {
        return connection_fail(self, -EINVAL, "%s is longer than %d characters", name, HOST_MAX);
    }
    *ret_host = xstrdup(text);
    return 0;
}

/* A launcher that names no address for us means the one where it is itself. */
static int get_ip(const struct connection_reader *self, struct connection *connection)
{
    const char *otherwise = connection->registration_ip != NULL ? connection->registration_ip
                            : is_ipc(connection)                ? NULL
                                                                : "127.0.0.1";
    int error = get_host(self, connection, "ip", otherwise, &connection->ip);
    for (int channel = 0; channel < CHANNELS && error == 0 && is_ipc(connection); channel++) {
        error = check_path(self, "ip", connection->ip, channel_names[channel],
                           connection->port[channel]);
    }
    return error;
}

/* ---- registration files ---------------------------------------------------------- */

/* It becomes part of a file's name. */
static int get_kernel_id(const struct connection_reader *self, struct connection *connection)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *id = "";
    int error = get_text(self, "kernel_id", NULL, &id);
    if (error != 0) {
        return error;
    }
    if (id == NULL) {
        return connection_fail(self, -EINVAL, "kernel_id is missing");
    }
    if (id[0] == '\0' || strlen(id) > KERNEL_ID_MAX || id[strspn(id, allowed)] != '\0') {
        return connection_fail(self, -EINVAL,
                               "kernel_id must be 1 to %d letters, digits, dots, dashes and "
                               "underscores",
                               KERNEL_ID_MAX);
    }
    connection->kernel_id = xstrdup(id);
    return 0;
}

/* Either of the two fields that Posit's supervisor does not write. */
static bool names_a_kernel(const struct connection_reader *self)
{
    return json_object_get(self->json, "kernel_id") != NULL ||
           json_object_get(self->json, "registration_ip") != NULL;
}

static int get_registration(const struct connection_reader *self, struct connection *connection)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s_port", channel_names[channel]);
        if (json_object_get(self->json, name) != NULL) {
            return connection_fail(self, -EINVAL,
                                   "it has %s too: ports are either given or asked for", name);
        }
    }
    if (json_is_null(json_object_get(self->json, "key"))) {
        (void)json_object_del(self->json, "key"); /* the supervisor writes its missing key so */
    }
    int error = get_port(self, "registration", 1, &connection->registration_port);
    bool named = names_a_kernel(self);
    if (error == 0 && named) {
        error = get_kernel_id(self, connection);
    }
    if (error == 0) {
        error = get_host(self, connection, named ? "registration_ip" : "ip", NULL,
                         &connection->registration_ip);
    }
    if (error == 0 && is_ipc(connection)) {
        error = check_path(self, named ? "registration_ip" : "ip", connection->registration_ip,
                           "registration", connection->registration_port);
    }
    return error;
}

/* ---- both ------------------------------------------------------------------------ */

static int get_addresses(const struct connection_reader *self, struct connection *connection)
{
    int error = connection_is_registration(self) ? get_registration(self, connection)
                                                 : get_ports(self, connection);
    return error == 0 ? get_ip(self, connection) : error;
}

static int get_signing(const struct connection_reader *self, struct connection *connection)
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
        return connection_fail(self, -EINVAL, "key is longer than %d bytes", SIGN_KEY_MAX);
    }
    connection->key = secret(key);
    connection->scheme = xstrdup(scheme);
    return 0;
}

static int get_kernel_name(const struct connection_reader *self, struct connection *connection)
{
    const char *name = json_string_value(json_object_get(self->json, "kernel_name"));
    connection->kernel_name = name != NULL ? xstrdup(name) : NULL;
    return 0;
}

/* In order: what an address is depends on the transport. */
static int (*const steps[])(const struct connection_reader *self, struct connection *connection) = {
    get_transport,
    get_addresses,
    get_signing,
    get_kernel_name,
};

int connection_take_apart(const struct connection_reader *self, struct connection *connection)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int error = steps[i](self, connection);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
