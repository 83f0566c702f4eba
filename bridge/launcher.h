#ifndef BRIDGE_LAUNCHER_H
#define BRIDGE_LAUNCHER_H

/*
 * Shared by the launcher's two files: what it was told, how it gives up, and
 * what it can learn about the Python it shall become.
 */

#include <stdbool.h>

/* How the launcher ends when it can not start Python, each with one line on stderr. */
enum launcher_status {
    LAUNCHER_EUSAGE = 121,     /* its own arguments, or the kernel is gone */
    LAUNCHER_EPYTHON = 122,    /* that Python is not there or does not run */
    LAUNCHER_ELIBPYTHON = 123, /* its library is not there or can not be loaded */
    LAUNCHER_ERUNNER = 124,    /* our runner is not there or can not be loaded */
    LAUNCHER_EUNFIT = 125,     /* older than 3.11, or free-threaded */
};

struct launcher {
    const char *fds;
    const char *kernel_pid;
    const char *python;
    const char *libpython; /* NULL: ask that Python; "": use the stock interpreter */
    const char *runner;
    const char *library;
    const char *max_output;
    const char *settings;
};

/* One line on stderr, then exit. */
void launcher_fail(enum launcher_status status, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/*
 * Asks the target Python what it is, by running it: `python` becomes its
 * sys.executable, `libpython` the file of its shared library, "" where it has
 * none. Ends the process if that Python does not run or is unfit.
 */
void launcher_ask(struct launcher *self);

/* Ends the process if a version text as of sys.version is not one the runner fits. */
void launcher_check_version(const char *python, const char *version);

/* Whether the worker is one of `einkorn frames`: Python is run unbuffered, as its host runs it. */
bool launcher_is_for_frames(const struct launcher *self);

/* Becomes the stock interpreter, which imports the runner. Returns only on failure, -errno. */
int launcher_exec_stock(const struct launcher *self);

/* Out of memory, this process shall be killed rather than the kernel process. */
void launcher_volunteer_for_oom(void);

#endif
