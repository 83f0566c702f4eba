/*
 * einkorn-python: becomes the user's Python with our runner in it.
 *
 * It links neither CPython nor anything else that Python code could meet: the
 * target's libpython is loaded for all to see (extension modules need that),
 * the runner beside it, and Py_BytesMain does the rest with argv[0] = the
 * environment's own bin/python. So venv, site and every PYTHON* variable work as
 * with `python`. A Python without a shared library is exec'd instead and
 * imports the runner itself (launcher_target.c).
 *
 * Runs in the worker process, once, before Python; owns nothing for longer.
 */

#include "bridge/launcher.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bridge/orphan.h"
#include "bridge/runner.h"

void launcher_fail(enum launcher_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("einkorn-python: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit((int)status);
}

static struct launcher parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"fds", required_argument, NULL, 'f'},
        {"kernel-pid", required_argument, NULL, 'k'},
        {"python", required_argument, NULL, 'p'},
        {"libpython", required_argument, NULL, 'b'},
        {"runner", required_argument, NULL, 'r'},
        {"library", required_argument, NULL, 'l'},
        {"max-output", required_argument, NULL, 'm'},
        {"settings", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    struct launcher self = {.max_output = "1000000", .settings = ""};
    int option;
    opterr = 0; /* one line, and it is ours */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'f':
            self.fds = optarg;
            break;
        case 'k':
            self.kernel_pid = optarg;
            break;
        case 'p':
            self.python = optarg;
            break;
        case 'b':
            self.libpython = optarg;
            break;
        case 'r':
            self.runner = optarg;
            break;
        case 'l':
            self.library = optarg;
            break;
        case 'm':
            self.max_output = optarg;
            break;
        case 's':
            self.settings = optarg;
            break;
        default:
            launcher_fail(LAUNCHER_EUSAGE, "is started by einkorn, not by hand");
        }
    }
    if (self.fds == NULL || self.kernel_pid == NULL || self.python == NULL || self.runner == NULL ||
        self.library == NULL) {
        launcher_fail(LAUNCHER_EUSAGE, "is started by einkorn, not by hand");
    }
    return self;
}

/* From here on the kernel's death ends this process, whatever it has become. */
static void guard_against_orphaning(const char *kernel_pid)
{
    if (prctl(PR_SET_PDEATHSIG, ORPHAN_SIGNAL) != 0) {
        launcher_fail(LAUNCHER_EUSAGE, "prctl: %s", strerror(errno));
    }
    if (getppid() != (pid_t)strtol(kernel_pid, NULL, 10)) {
        launcher_fail(LAUNCHER_EUSAGE, "the kernel process %s is gone", kernel_pid);
    }
}

bool launcher_is_for_frames(const struct launcher *self)
{
    return strcmp(self->fds, RUNNER_FRAMES) == 0;
}

/* The address of a function by name. A union, as ISO C has no such conversion. */
union function {
    void *address;
    const char *(*get_version)(void);
    int (*append_inittab)(const char *name, void *(*init)(void));
    int (*bytes_main)(int argc, char **argv);
    void *(*init)(void);
    int (*configure)(const struct runner_config *config);
};

static union function find(void *library, const char *file, const char *name,
                           enum launcher_status status)
{
    union function function = {.address = dlsym(library, name)};
    if (function.address == NULL) {
        launcher_fail(status, "%s has no %s", file, name);
    }
    return function;
}

static void *load_libpython(const struct launcher *self)
{
    if (access(self->libpython, R_OK) != 0) {
        launcher_fail(LAUNCHER_ELIBPYTHON,
                      "%s: %s; `einkorn install --python %s` finds the library anew "
                      "(on Debian it is in the package libpython3.N)",
                      self->libpython, strerror(errno), self->python);
    }
    void *libpython = dlopen(self->libpython, RTLD_NOW | RTLD_GLOBAL);
    if (libpython == NULL) {
        launcher_fail(LAUNCHER_ELIBPYTHON, "%s", dlerror());
    }
    union function version = find(libpython, self->libpython, "Py_GetVersion", LAUNCHER_ELIBPYTHON);
    launcher_check_version(self->python, version.get_version());
    return libpython;
}

static void *load_runner(const struct launcher *self)
{
    void *runner = dlopen(self->runner, RTLD_NOW | RTLD_LOCAL);
    if (runner == NULL) {
        launcher_fail(LAUNCHER_ERUNNER, "%s", dlerror());
    }
    const struct runner_config config = {
        .fds = self->fds,
        .kernel_pid = self->kernel_pid,
        .library = self->library,
        .max_output = self->max_output,
        .settings = self->settings,
    };
    union function configure =
        find(runner, self->runner, "einkorn_runner_configure", LAUNCHER_ERUNNER);
    int error = configure.configure(&config);
    if (error != 0) {
        launcher_fail(LAUNCHER_EUSAGE, "the runner refuses its settings: %s", strerror(-error));
    }
    return runner;
}

int main(int argc, char **argv)
{
    struct launcher self = parse(argc, argv);
    bool frames = launcher_is_for_frames(&self);
    if (!frames) { /* there, both sides see the other's end by themselves */
        guard_against_orphaning(self.kernel_pid);
        launcher_volunteer_for_oom();
    }
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* order of C code's lines and Python's */
    if (access(self.python, X_OK) != 0) {
        launcher_fail(LAUNCHER_EPYTHON, "%s: %s", self.python, strerror(errno));
    }
    if (access(self.runner, R_OK) != 0) {
        launcher_fail(LAUNCHER_ERUNNER, "%s: %s", self.runner, strerror(errno));
    }
    if (self.libpython == NULL) {
        launcher_ask(&self);
    }
    if (*self.libpython == '\0') {
        int error = launcher_exec_stock(&self);
        launcher_fail(LAUNCHER_EPYTHON, "%s: %s", self.python, strerror(-error));
    }
    void *libpython = load_libpython(&self);
    void *runner = load_runner(&self);
    union function inittab =
        find(libpython, self.libpython, "PyImport_AppendInittab", LAUNCHER_ELIBPYTHON);
    union function bytes_main =
        find(libpython, self.libpython, "Py_BytesMain", LAUNCHER_ELIBPYTHON);
    union function init = find(runner, self.runner, "PyInit__einkorn", LAUNCHER_ERUNNER);
    if (inittab.append_inittab("_einkorn", init.init) != 0) {
        launcher_fail(LAUNCHER_ERUNNER, "out of memory");
    }
    char *python = (char *)(uintptr_t)self.python; /* of our argv; Python only reads it */
    char option[] = "-c";
    char unbuffered[] = "-uPc";
    char code[] = "__import__('_einkorn').run()";
    char *python_argv[] = {python, frames ? unbuffered : option, code, NULL};
    return bytes_main.bytes_main(3, python_argv);
}
