/*
 * Asks a Python what it is. Kernel process, in `einkorn install`,
 * `uninstall` and `doctor`.
 *
 * The answer comes from the interpreter itself, because nothing else knows it:
 * a path may be a pyenv shim, a link into another tree or a virtual
 * environment. Its stdout and stderr share one pipe, so that of a Python that
 * fails, the last line it said can go into our message. Owns the child until
 * it has ended; a Python that hangs is ended by its own alarm.
 */

#include "kernelspec/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernelspec/files.h"

enum {
    OLDEST_MAJOR = 3,
    OLDEST_MINOR = 11,
    PROBE_SECONDS = 60,     /* a cold start from a network drive can be slow */
    OUTPUT_MAX = 64 * 1024, /* what is kept of a child's output */
};

#define ANSWER "einkorn-probe "

static int complain(char ret_error[PROBE_ERROR_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int complain(char ret_error[PROBE_ERROR_MAX], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(ret_error, PROBE_ERROR_MAX, format, arguments);
    va_end(arguments);
    return -1;
}

/* The child's side of run(): never returns. An exec that fails is told as text. */
static void become(char *const argv[], int output)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
    }
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)alarm(PROBE_SECONDS);
    (void)execvp(argv[0], argv);
    (void)dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(127);
}

/* Reads to the end of a pipe and keeps the first OUTPUT_MAX bytes. */
static void drain(int fd, struct buffer *output)
{
    char bytes[4096];
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return;
        }
        if (n > 0 && output->n < OUTPUT_MAX) {
            buffer_put(output, bytes, (size_t)n);
        }
    }
}

/* Runs a program to its end. -> its wait status, -errno: it could not be started. */
static int run(char *const argv[], struct buffer *output)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid < 0) {
        int error = -errno;
        (void)close(fds[0]);
        (void)close(fds[1]);
        return error;
    }
    if (pid == 0) {
        become(argv, fds[1]);
    }
    (void)close(fds[1]);
    drain(fds[0], output);
    (void)close(fds[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
    }
    return status;
}

/*
 * The JSON object in a probe's output (NULL: none), and the last line that is
 * not empty, which is the reason where Python failed. Both point into `text`.
 */
static const char *find_answer(char *text, const char **ret_last_line)
{
    const char *answer = NULL;
    const char *last = "no output";
    char *rest = text;
    for (char *line = strsep(&rest, "\r\n"); line; line = strsep(&rest, "\r\n")) {
        if (strncmp(line, ANSWER, strlen(ANSWER)) == 0) {
            answer = line + strlen(ANSWER);
        } else if (*line) {
            last = line;
        }
    }
    *ret_last_line = last;
    return answer;
}

/* Refuses what cannot work. -> 0, -1 and the text. */
static int judge(const char *executable, const char *implementation, const char *version,
                 bool free_threaded, char ret_error[PROBE_ERROR_MAX])
{
    char *rest;
    long major = strtol(version, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    if (strcmp(implementation, "cpython") != 0) {
        return complain(ret_error, "%s is %s; Einkorn runs in CPython: name one with --python PATH",
                        executable, implementation);
    }
    if (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR)) {
        return complain(ret_error,
                        "%s is Python %s; Einkorn needs %d.%d or newer: name one with "
                        "--python PATH",
                        executable, version, OLDEST_MAJOR, OLDEST_MINOR);
    }
    if (free_threaded) {
        return complain(ret_error,
                        "%s is a free-threaded build, which has no stable ABI that Einkorn could "
                        "use: name a build with the GIL with --python PATH",
                        executable);
    }
    return 0;
}

/* Reads and judges the answer. -> 0, -1 and the text. */
static int read_answer(const char *answer, const char *python, struct probe *ret_probe,
                       char ret_error[PROBE_ERROR_MAX])
{
    json_t *facts = json_loads(answer, 0, NULL);
    const char *implementation;
    const char *version;
    const char *executable;
    const char *prefix;
    const char *base;
    const char *libpython;
    int free_threaded;
    int r =
        json_unpack(facts, "{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "implementation", &implementation,
                    "version", &version, "executable", &executable, "prefix", &prefix, "base",
                    &base, "libpython", &libpython, "free_threaded", &free_threaded);
    if (r < 0) {
        complain(ret_error,
                 "%s gave an answer that makes no sense (%.200s): name another with --python PATH",
                 python, answer);
    } else {
        r = judge(executable, implementation, version, free_threaded, ret_error);
    }
    if (r == 0) {
        *ret_probe = (struct probe){
            .executable = xstrdup(executable),
            .prefix = xstrdup(prefix),
            .base = xstrdup(base),
            .version = xstrdup(version),
            .libpython = xstrdup(libpython),
        };
    }
    json_decref(facts);
    return r;
}

/* A virtual environment whose base was removed or upgraded away. */
static bool base_is_gone(const char *python)
{
    struct stat status;
    return lstat(python, &status) == 0 && S_ISLNK(status.st_mode) && stat(python, &status) < 0;
}

/* Isolated as far as Python 2 knows it: no PYTHON* variables, no user site, no .pyc written. */
int probe_init(struct probe *ret_probe, const char *python, const struct paths *paths,
               char ret_error[PROBE_ERROR_MAX])
{
    char *name = xstrdup(python);
    char *file = text_format("%s/probe.py", paths->kernelspec);
    char flags[] = "-EsB";
    char *const command[] = {name, flags, file, NULL};
    struct buffer output = BUFFER_INIT;
    int status = run(command, &output);
    buffer_put_char(&output, '\0');

    const char *reason;
    const char *answer = find_answer((char *)output.p, &reason);
    int r;
    if (status < 0) {
        r = complain(ret_error, "cannot start %s: %s", python, strerror(-status));
    } else if (base_is_gone(python)) {
        r = complain(ret_error,
                     "%s is a link to a Python that is gone: make the environment anew "
                     "(python3 -m venv --clear), or name another with --python PATH",
                     python);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        r = complain(ret_error, "%s did not answer within %d s: name another with --python PATH",
                     python, PROBE_SECONDS);
    } else if (WIFSIGNALED(status)) {
        r = complain(ret_error, "%s died of signal %d (%s): name another with --python PATH",
                     python, WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (!answer) {
        r = complain(ret_error, "%s does not work (%.300s): name another with --python PATH",
                     python, reason);
    } else {
        r = read_answer(answer, python, ret_probe, ret_error);
    }
    buffer_release(&output);
    free(name);
    free(file);
    return r;
}

void probe_release(struct probe *self)
{
    free(self->executable);
    free(self->prefix);
    free(self->base);
    free(self->version);
    free(self->libpython);
    *self = (struct probe){0};
}

void probe_compile(const struct probe *self, const char *dir)
{
    char *target = xstrdup(dir);
    char flags[] = "-Es";
    char module[] = "-m";
    char compileall[] = "compileall";
    char quiet[] = "-qq";
    char *const command[] = {self->executable, flags, module, compileall, quiet, target, NULL};
    struct buffer output = BUFFER_INIT;
    (void)run(command, &output);
    buffer_release(&output);
    free(target);
}
