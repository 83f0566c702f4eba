/*
 * Connection files that we make or change.
 *
 * Runs in the kernel process, on its one thread: when no file is there, and
 * again when the ports are known. A file's own object is kept and written back
 * with the ports changed, so keys that we do not know survive. Clients watch
 * for the file, so it appears whole or not at all: a temporary file beside it,
 * then rename. Owns nothing; what it makes is the caller's connection.
 */

#include "kernel/connection_make.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
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
#include "kernel/runtime_directory.h"

enum { KEY_BYTES = 16 }; /* of a key that we make */

/* ---- making one ----------------------------------------------------------------- */

/* A name in Jupyter's runtime directory; `id` NULL: our pid. -> 0 and the path, owned. */
static int default_path(const char *id, char error_text[CONNECTION_ERROR_MAX], char **ret_path)
{
    char directory[PATH_MAX];
    int error = runtime_directory(directory, sizeof directory);
    if (error != 0) {
        (void)snprintf(error_text, CONNECTION_ERROR_MAX,
                       "no directory for a connection file: set JUPYTER_RUNTIME_DIR or HOME");
        return error;
    }
    error = runtime_directory_make(directory);
    if (error != 0) {
        (void)snprintf(error_text, CONNECTION_ERROR_MAX, "cannot make the directory %.300s: %s",
                       directory, strerror(-error));
        return error;
    }
    struct buffer buffer = BUFFER_INIT;
    if (id != NULL) {
        buffer_printf(&buffer, "%s/kernel-%s.json", directory, id);
    } else {
        buffer_printf(&buffer, "%s/kernel-%ld.json", directory, (long)getpid());
    }
    buffer_put_char(&buffer, '\0');
    size_t n;
    *ret_path = (char *)buffer_detach(&buffer, &n);
    return 0;
}

/* As many random hex digits as Jupyter's own keys have, in locked memory. */
static char *random_key(void)
{
    uint8_t bytes[KEY_BYTES];
    char *key = sodium_malloc(2 * sizeof bytes + 1);
    CHECK(key != NULL);
    randombytes_buf(bytes, sizeof bytes);
    (void)sodium_bin2hex(key, 2 * sizeof bytes + 1, bytes, sizeof bytes);
    sodium_memzero(bytes, sizeof bytes);
    return key;
}

int connection_make(const char *path, struct connection *ret_connection,
                    char ret_error[CONNECTION_ERROR_MAX])
{
    char *own_path = NULL;
    int error = 0;
    if (path != NULL) {
        own_path = xstrdup(path);
    } else {
        error = default_path(NULL, ret_error, &own_path);
    }
    if (error != 0) {
        return error;
    }
    struct connection connection = {
        .path = own_path,
        .created = true,
        .changed = true,
        .transport = xstrdup("tcp"),
        .ip = xstrdup("127.0.0.1"),
        .key = random_key(),
        .scheme = xstrdup("hmac-sha256"),
        .kernel_name = xstrdup("einkorn"),
    };
    connection.json = json_pack("{s:s, s:s, s:s, s:s, s:s}", "transport", connection.transport,
                                "ip", connection.ip, "key", connection.key, "signature_scheme",
                                connection.scheme, "kernel_name", connection.kernel_name);
    CHECK(connection.json != NULL);
    *ret_connection = connection;
    return 0;
}

/* ---- one for others, beside a registration file ------------------------------------- */

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* A client must not take it for a registration file, and is to guess nothing. */
static void describe(struct connection *self)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        {"transport", self->transport},
        {"ip", self->ip},
        {"key", self->key},
        {"signature_scheme", self->scheme},
    };
    (void)json_object_del(self->json, "registration_port");
    (void)json_object_del(self->json, "registration_ip");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        /* Fails for a path that is no UTF-8: the file keeps what the launcher wrote. */
        (void)json_object_set_new(self->json, texts[i].name, json_string(texts[i].text));
    }
}

void connection_become_own(struct connection *self)
{
    char unused[CONNECTION_ERROR_MAX], *path = NULL;
    int error = default_path(self->kernel_id, unused, &path);
    if (error == 0 && same_file(path, self->path)) {
        /* Jupyter's managers name the file that they hand over so; a restart reads it again. */
        free(path);
        error = default_path(NULL, unused, &path);
    }
    if (error == 0) {
        free(self->path);
        self->path = path;
        self->created = true;
    }
    self->changed = true;
    describe(self);
}

/* ---- writing --------------------------------------------------------------------- */

/* The file's text with today's ports; wiped and freed by the caller. */
static char *dump(struct connection *self)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s_port", channel_names[channel]);
        CHECK(json_object_set_new(self->json, name, json_integer(self->port[channel])) == 0);
    }
    char *text = json_dumps(self->json, JSON_INDENT(2));
    CHECK(text != NULL);
    return text;
}

/* -> 0, -errno. Closes the fd. */
static int write_and_close(int fd, const char *text, size_t n)
{
    int error = 0;
    for (size_t at = 0; at < n && error == 0;) {
        ssize_t written = write(fd, text + at, n - at);
        if (written >= 0) {
            at += (size_t)written;
        } else if (errno != EINTR) {
            error = -errno;
        }
    }
    if (close(fd) != 0 && error == 0) {
        error = -errno;
    }
    return error;
}

/* A reader sees the old file or the new one, never half of one. -> 0, -errno. */
static int replace_file(const char *path, const char *text)
{
    struct buffer name = BUFFER_INIT;
    buffer_printf(&name, "%s.XXXXXX", path);
    buffer_put_char(&name, '\0');
    char *temporary = (char *)name.p;
    int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    int error = fd < 0 ? -errno : write_and_close(fd, text, strlen(text));
    if (error == 0 && rename(temporary, path) != 0) {
        error = -errno;
    }
    if (error != 0 && fd >= 0) {
        (void)unlink(temporary);
    }
    buffer_release(&name);
    return error;
}

int connection_write(struct connection *self, char ret_error[CONNECTION_ERROR_MAX])
{
    if (self->registration_port != 0 && !self->created) {
        (void)snprintf(ret_error, CONNECTION_ERROR_MAX,
                       "no directory for a connection file: set JUPYTER_RUNTIME_DIR or HOME");
        return -ENOENT;
    }
    char *target = realpath(self->path, NULL);
    char *text = dump(self);
    int error = replace_file(target != NULL ? target : self->path, text);
    sodium_memzero(text, strlen(text));
    free(text);
    free(target);
    if (error != 0) {
        (void)snprintf(ret_error, CONNECTION_ERROR_MAX,
                       "connection file %.300s: cannot be written: %s", self->path,
                       strerror(-error));
        return error;
    }
    self->written = true;
    self->changed = false;
    return 0;
}
