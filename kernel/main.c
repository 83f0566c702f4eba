/*
 * `einkorn`: reads the command line and does what it says. A file of the kernel
 * process that the tests do not link.
 *
 * The program needs libc alone. Whatever needs more lies in einkorn-kernel.so,
 * which is loaded when Python has been spawned (start.c).
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bridge/runner.h"
#include "kernel/entry.h"
#include "kernel/log.h"
#include "kernel/options.h"
#include "kernel/paths.h"
#include "kernel/python_path.h"
#include "kernel/start.h"

enum { EXIT_NOT_STARTED = 127 };

/* Ends by the signal that ended the worker, so that whoever watches us sees it. No second core. */
static void end_by_signal(int signal_number)
{
    struct rlimit no_core = {0, 0};
    sigset_t set;

    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(signal_number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(signal_number);
}

/* Closed standard fds would be given to the next files opened, and written to. */
static void fill_standard_fds(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    (void)close(fd);
}

static int open_log(const struct options *options)
{
    int fd = STDERR_FILENO;

    if (options->log_file) {
        fd = open(options->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (fd >= 0) {
        log_init(fd, (enum log_level)options->log_level);
    }
    return fd >= 0 ? 0 : -errno;
}

/*
 * RTLD_LAZY is for the libraries that come along: what they never call need not be
 * looked up, a tenth of the time. The shared object itself is linked with -z now.
 * -> the entry of einkorn-kernel.so; NULL: why is logged.
 */
static entry_fn *load(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    entry_fn *entry = NULL;

    if (library) {
        *(void **)&entry = dlsym(library, ENTRY_NAME);
    }
    if (!entry) {
        log_error("cannot load the kernel: %s", dlerror());
    }
    return entry;
}

/* What needs no worker: `einkorn install` and its brothers. */
static int run_command(const struct options *options)
{
    struct paths paths;
    entry_fn *entry = NULL;

    if (paths_init(&paths) < 0) {
        log_error("cannot tell where this program lies: /proc is not there");
        return EXIT_FAILURE;
    }
    entry = load(paths.kernel);
    paths_release(&paths);
    return entry ? entry(options, NULL) : EXIT_FAILURE;
}

static int run_kernel(const struct options *options)
{
    struct start start;
    entry_fn *entry;
    int status = open_log(options);

    if (status < 0) {
        (void)fprintf(stderr, "einkorn: %s: %s\n", options->log_file, strerror(-status));
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < options->ignored_count && i < OPTIONS_IGNORED_MAX; i++) {
        const char *text = options->ignored[i];

        if (*text == '-') {
            log_warning("option %s is not Einkorn's: IPython gets it", text);
        } else {
            log_warning("argument %s is not known and ignored", text);
        }
    }
    status = start_init(&start, options);
    if (status != 0) {
        return status;
    }
    entry = load(start.paths.kernel);
    if (!entry) {
        start_release(&start);
        return EXIT_FAILURE;
    }
    status = entry(options, &start);
    if (status < 0) {
        end_by_signal(-status);
    }
    return status < 0 ? 128 - status : status;
}

/* Never comes back, unless the Python cannot be started. */
static int become_python(const struct options *options)
{
    char *path = python_path(options->python);
    char **argv = options->python_argv - 1; /* there is our own argv[0] at least */

    argv[0] = path;
    (void)execv(path, argv);
    (void)fprintf(stderr, "einkorn: cannot start %s: %s; name a Python with --python PATH\n", path,
                  strerror(errno));
    free(path);
    return EXIT_NOT_STARTED;
}

/*
 * The same for a worker of frames, by way of the launcher: whoever started us has it
 * under the pid, with the group and the descriptors that it gave us. Without its
 * library's name the Python runs itself, for asking it would be a process in between.
 */
static int become_frames(const struct options *options)
{
    struct paths paths;
    sigset_t interrupt;

    /* Until the gate stands, which lets it go (bridge/gate.c), an interrupt is for nobody. */
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupt, NULL);
    if (paths_init(&paths) < 0) {
        log_error("cannot tell where this program lies: /proc is not there");
        return EXIT_NOT_STARTED;
    }
    char *python = python_path(options->python ? options->python : "python3");
    (void)execl(paths.launcher, paths.launcher, "--fds", RUNNER_FRAMES, "--kernel-pid", "0",
                "--python", python, "--libpython", options->libpython ? options->libpython : "",
                "--runner", paths.runner, "--library", paths.python, (char *)NULL);
    (void)fprintf(stderr, "einkorn: cannot start %s: %s\n", paths.launcher, strerror(errno));
    free(python);
    paths_release(&paths);
    return EXIT_NOT_STARTED;
}

int main(int argc, char **argv)
{
    struct options options;
    char error[OPTIONS_ERROR_MAX];

    fill_standard_fds();

    if (options_parse(argc, argv, &options, error) < 0) {
        (void)fprintf(stderr, "einkorn: %s\n", error);
        return EXIT_USAGE;
    }
    switch (options.command) {
    case COMMAND_HELP:
        (void)fputs(options_help, stdout);
        return 0;
    case COMMAND_VERSION:
        (void)printf("einkorn %s\n", EINKORN_VERSION);
        return 0;
    case COMMAND_INSTALL:
    case COMMAND_UNINSTALL:
    case COMMAND_DOCTOR:
        return run_command(&options);
    case COMMAND_FRAMES:
        return become_frames(&options);
    case COMMAND_PYTHON:
        return become_python(&options);
    case COMMAND_KERNEL:
        break;
    }
    return run_kernel(&options);
}
