/*
 * What the launcher must know of its target, and the way in for a Python that is
 * in its own executable: it runs itself and imports the runner from its file.
 * Such a Python may have a shared library beside it all the same, as Debian's has;
 * that is slower by a sixth, position-independent as it has to be.
 * Both speak to that Python in Python, in one expression each, so nothing of it
 * is left in __main__. Worker process, before Python.
 */

#include "bridge/launcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ANSWER_MAX = 8192,
    ANSWER_MS = 20000, /* a cold start from a slow disk takes seconds */
};

/*
 * Three lines: sys.version without its newlines, sys.executable (the path asked
 * may be a script that finds one), and the shared library that it runs by.
 */
static const char question[] =
    "import sys, sysconfig\n"
    "files = [file for line in open('/proc/self/maps') for file in line.split(None, 5)[5:]\n"
    "         if '/libpython%d.%d' % sys.version_info[:2] in file]\n"
    "free = 'free-threading' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''\n"
    "print(sys.version.replace('\\n', ' '), free)\n"
    "print(sys.executable)\n"
    "print(files[0].rstrip('\\n') if files else '')\n";

/*
 * What the stock interpreter runs; its arguments are RUNNER FDS PID LIBRARY MAX. One
 * expression on one line, so that one frame stands below every cell (kernel/stack_text.h).
 */
#define SYS "__import__('sys')"
static char entry[] =
    "'a worker of einkorn' and ("
    "(" SYS ".version_info < (3, 11) or 't' in " SYS ".abiflags) and"
    " (" SYS ".stderr.write('einkorn-python: ' + " SYS ".executable + ' is Python ' +"
    " " SYS ".version.split()[0] + '; einkorn needs 3.11 or later, with the GIL\\n'),"
    " " SYS ".stderr.flush(), __import__('os')._exit(125)) or"
    " __import__('_imp').create_dynamic(__import__('_frozen_importlib').ModuleSpec("
    "'_einkorn', None, origin=" SYS ".argv[1])).run())";

/* Reads until the end, the limit or the deadline. -> bytes, or -errno. */
static ssize_t read_answer(int fd, char answer[ANSWER_MAX])
{
    size_t n = 0;
    while (n < ANSWER_MAX - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = poll(&ready, 1, ANSWER_MS);
        if (count == 0) {
            return -ETIMEDOUT;
        }
        ssize_t got = count > 0 ? read(fd, answer + n, ANSWER_MAX - 1 - n) : -1;
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        n += got > 0 ? (size_t)got : 0;
    }
    answer[n] = '\0';
    return (ssize_t)n;
}

/* Runs the question. -> 0 and two lines, or -errno; -ECHILD: it failed, and said why itself. */
static int ask(const char *python, char answer[ANSWER_MAX])
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(python, python, "-I", "-S", "-c", question, (char *)NULL);
        (void)dprintf(STDERR_FILENO, "einkorn-python: %s: %s\n", python, strerror(errno));
        _exit(LAUNCHER_EPYTHON);
    }
    int error = pid < 0 ? -errno : 0;
    (void)close(ends[1]);
    if (error == 0) {
        ssize_t n = read_answer(ends[0], answer);
        error = n < 0 ? (int)n : 0;
        if (error != 0) {
            (void)kill(pid, SIGKILL);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (error == 0 && status != 0) {
            error = -ECHILD;
        }
    }
    (void)close(ends[0]);
    return error;
}

void launcher_check_version(const char *python, const char *version)
{
    char *point = NULL;
    long major = strtol(version, &point, 10);
    long minor = *point == '.' ? strtol(point + 1, NULL, 10) : 0;
    if (major < 3 || (major == 3 && minor < 11)) {
        launcher_fail(LAUNCHER_EUNFIT, "%s is Python %.*s; einkorn needs 3.11 or later", python,
                      (int)strcspn(version, " "), version);
    }
    if (strstr(version, "free-threading") != NULL) {
        launcher_fail(LAUNCHER_EUNFIT,
                      "%s is a free-threaded Python, which has no stable ABI yet; "
                      "einkorn needs a build with the GIL",
                      python);
    }
}

/* Ends a line of the answer. -> the next one, or NULL. */
static char *next_line(char *line)
{
    char *end = line != NULL ? strchr(line, '\n') : NULL;
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return end + 1;
}

void launcher_ask(struct launcher *self)
{
    static char answer[ANSWER_MAX];
    int error = ask(self->python, answer);
    if (error == -ECHILD) {
        launcher_fail(LAUNCHER_EPYTHON, "%s does not run", self->python);
    }
    char *executable = error == 0 ? next_line(answer) : NULL;
    char *library = next_line(executable);
    if (next_line(library) == NULL) {
        launcher_fail(LAUNCHER_EPYTHON, "%s does not say where its library is: %s", self->python,
                      error != 0 ? strerror(-error) : "no answer");
    }
    launcher_check_version(self->python, answer);
    self->python = executable;
    self->libpython = library;
}

int launcher_exec_stock(const struct launcher *self)
{
    (void)execl(self->python, self->python, launcher_is_for_frames(self) ? "-uPc" : "-c", entry,
                self->runner, self->fds, self->kernel_pid, self->library, self->max_output,
                self->settings, (char *)NULL);
    return -errno;
}
