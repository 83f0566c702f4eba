/*
 * Dials the host: see frames_remote.h. Plain system calls, before any cell, so
 * nothing of the user's is in between. The answer is read byte by byte: what
 * comes right behind it belongs to the protocol. Main thread; owns nothing.
 */

#include "bridge/frames_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/frames_names.h"
#include "bridge/json_text.h"
#include "bridge/py_compat.h"
#include "bridge/xalloc.h"

enum { EXIT_NO_HOST = 70, TIMEOUT_S = 60, REPLY_MAX = 65536, REPLY_DEPTH = 64 };

#define CONNECT  "OPENAI4S_WORKER_CONNECT"
#define PATH     "OPENAI4S_WORKER_BOOTSTRAP_PATH"
#define TEMPLATE "OPENAI4S_WORKER_BOOTSTRAP_PATH_TEMPLATE"
#define RANK_ENV "OPENAI4S_WORKER_RANK_ENV"

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("worker bootstrap failed: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    _exit(EXIT_NO_HOST);
}

static void fail_by_errno(int error)
{
    if (error == EAGAIN) {
        fail("timed out");
    }
    fail("[Errno %d] %s", error, strerror(error));
}

/* A text without the white space around it; on the heap. */
static char *stripped(const char *text, size_t n)
{
    static const char blank[] = " \t\n\v\f\r";
    while (n > 0 && strchr(blank, text[n - 1]) != NULL) {
        n--;
    }
    while (n > 0 && strchr(blank, *text) != NULL) {
        text++;
        n--;
    }
    char *copy = xmalloc(n + 1);
    if (n > 0) { /* an empty file has no bytes at all */
        memcpy(copy, text, n);
    }
    copy[n] = '\0';
    return copy;
}

/* A variable, stripped; "" where it is not set. On the heap. */
static char *variable(const char *name)
{
    const char *value = getenv(name);
    return stripped(value != NULL ? value : "", value != NULL ? strlen(value) : 0);
}

/* The template with its {rank}s filled in; on the heap. */
static char *path_by_template(const char *template)
{
    static const char mark[] = "{rank}";
    char *name = variable(RANK_ENV);
    if (*name == '\0') {
        fail("%s is set but %s is not", TEMPLATE, RANK_ENV);
    }
    char *text = variable(name);
    char *end = NULL;
    errno = 0;
    long rank = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || errno != 0) {
        fail("invalid worker rank in %s: '%s'", name, text);
    }
    if (rank < 0 || strstr(template, mark) == NULL) {
        fail("worker credential template/rank is invalid");
    }
    struct buffer path = BUFFER_INIT;
    for (const char *at = strstr(template, mark); at != NULL; at = strstr(template, mark)) {
        buffer_put(&path, template, (size_t)(at - template));
        buffer_printf(&path, "%ld", rank);
        template = at + strlen(mark);
    }
    buffer_put(&path, template, strlen(template) + 1);
    free(name);
    free(text);
    size_t n = 0;
    return (char *)buffer_detach(&path, &n);
}

static char *credential_path(void)
{
    char *template = variable(TEMPLATE);
    char *path = *template != '\0' ? path_by_template(template) : variable(PATH);
    free(template);
    if (*path == '\0') {
        fail("%s is set but %s is not; refusing to connect without a credential", CONNECT, PATH);
    }
    return path;
}

/* What the file says, and a newline; on the heap. */
static char *read_credential(void)
{
    struct buffer content = BUFFER_INIT;
    char piece[4096];
    ssize_t n = 0;
    char *path = credential_path();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0) {
        buffer_put(&content, piece, (size_t)n);
    }
    if (fd < 0 || n < 0) {
        fail("[Errno %d] %s: '%s'", errno, strerror(errno), path);
    }
    (void)close(fd);
    char *text = stripped((const char *)content.p, content.n);
    buffer_clear(&content);
    buffer_put_text(&content, text);
    buffer_put(&content, "\n", 2);
    free(text);
    free(path);
    size_t size = 0;
    return (char *)buffer_detach(&content, &size);
}

/* ---- the socket ---------------------------------------------------------------------- */

static void limit_time(int fd, int seconds)
{
    const struct timeval time = {.tv_sec = seconds};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time); /* connect, too */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

/* The first address that answers. -> fd, -errno of the last one. */
static int connect_any(const struct addrinfo *address)
{
    int error = -EADDRNOTAVAIL;
    for (; address != NULL; address = address->ai_next) {
        int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            error = -errno;
            continue;
        }
        limit_time(fd, TIMEOUT_S);
        if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
            return fd;
        }
        error = errno == EINPROGRESS ? -EAGAIN : -errno;
        (void)close(fd);
    }
    return error;
}

/* host:port; [host] in brackets if it is an IPv6 address. */
static int dial(char *target)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    char *colon = strrchr(target, ':');
    char *port = colon != NULL ? colon + 1 : target;
    const char *host = colon != NULL && colon > target ? target : "127.0.0.1";
    if (colon != NULL) {
        *colon = '\0';
    }
    if (*port == '\0' || port[strspn(port, "0123456789")] != '\0') {
        fail("invalid port in %s: '%s'", CONNECT, port);
    }
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        target[n - 1] = '\0';
        host = target + 1;
    }
    int error = getaddrinfo(host, port, &hints, &addresses);
    if (error != 0) {
        fail("[Errno %d] %s", error, gai_strerror(error));
    }
    int fd = connect_any(addresses);
    freeaddrinfo(addresses);
    if (fd < 0) {
        fail_by_errno(-fd);
    }
    return fd;
}

static void send_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t n = send(fd, text, left, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            fail_by_errno(errno);
        }
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
}

static void read_reply(int fd, struct buffer *reply)
{
    char byte = '\0';
    while (byte != '\n') {
        ssize_t n = recv(fd, &byte, 1, 0);
        if (n == 0) {
            fail("daemon closed during handshake");
        }
        if (n < 0 && errno != EINTR) {
            fail_by_errno(errno);
        }
        if (n > 0) {
            buffer_put_char(reply, byte);
        }
        if (reply->n > REPLY_MAX) {
            fail("handshake reply too long");
        }
    }
}

/* What a value of JSON says to people: a string's text, anything else as it is written. */
static void put_shown(struct buffer *text, struct slice value)
{
    if (json_kind_of(value) == JSON_STRING) {
        json_string_decode(value, text);
    } else {
        buffer_put_slice(text, value);
    }
}

static void refuse(struct slice reply)
{
    struct buffer text = BUFFER_INIT;
    struct slice error;
    if (json_object_find(reply, "error", &error) == 0) {
        put_shown(&text, error);
    } else {
        buffer_put_text(&text, "None");
    }
    buffer_put_char(&text, '\0');
    fail("daemon refused this worker: %s", (const char *)text.p);
}

/* An empty one is none. */
static int py_set_generation(struct slice reply)
{
    struct buffer text = BUFFER_INIT;
    struct slice value;
    int error = 0;
    if (json_object_find(reply, "generation", &value) == 0 && json_kind_of(value) != JSON_NULL &&
        json_kind_of(value) != JSON_FALSE) {
        put_shown(&text, value);
    }
    if (text.n > 0) {
        error = py_sys_set("_openai4s_remote_generation", py_text_from(buffer_slice(&text)));
    }
    buffer_release(&text);
    return error;
}

int py_frames_dial(int *ret_fd)
{
    struct buffer reply = BUFFER_INIT;
    enum json_kind kind = JSON_NULL;
    bool accepted = false;
    char *target = variable(CONNECT);
    if (*target == '\0') {
        free(target);
        return 0;
    }
    char *credential = read_credential();
    int fd = dial(target);
    send_all(fd, credential);
    read_reply(fd, &reply);
    struct slice text = buffer_slice(&reply);
    if (json_check(text, REPLY_DEPTH, &kind) != 0 || kind != JSON_OBJECT) {
        fail("the daemon's handshake reply is no JSON object");
    }
    if (json_object_get_bool(text, "ok", false, &accepted) != 0 || !accepted) {
        refuse(text);
    }
    limit_time(fd, 0);
    int error = py_set_generation(text);
    explicit_bzero(credential, strlen(credential));
    buffer_release(&reply);
    free(credential);
    free(target);
    *ret_fd = fd;
    return error;
}
