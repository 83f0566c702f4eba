#ifndef KERNEL_OPTIONS_H
#define KERNEL_OPTIONS_H

/*
 * The command line of `einkorn`. Every spelling of the connection file that
 * clients use is taken; an unknown --Trait.name=value gets one log line. What
 * an interpreter would take (-c, -m, -I, a script) is left for the Python.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum command {
    COMMAND_KERNEL,
    COMMAND_INSTALL,
    COMMAND_UNINSTALL,
    COMMAND_DOCTOR,
    COMMAND_FRAMES, /* become a worker that speaks JSON lines */
    COMMAND_PYTHON, /* exec the Python with python_argv */
    COMMAND_HELP,
    COMMAND_VERSION,
};

enum install_where { INSTALL_NONE, INSTALL_USER, INSTALL_SYS_PREFIX, INSTALL_PREFIX };

/* The exit status upon a bad command line or connection file. */
enum { EXIT_USAGE = 2 };

enum { OPTIONS_ERROR_MAX = 512, OPTIONS_IGNORED_MAX = 32, OPTIONS_VARIABLES_MAX = 64 };

/* A setting that an IPython profile has, too: what an option says goes before it. */
struct option_truth {
    bool is;
    bool said; /* by IPython's own option */
};

struct options {
    enum command command;
    const char *connection_file; /* NULL: none given */
    const char *python;          /* NULL: $VIRTUAL_ENV/bin/python, else python3 on PATH */
    const char *libpython;       /* NULL: ask that Python at start; "": run it itself */
    const char *python_version;  /* NULL: known when the worker is ready */
    size_t max_output;           /* characters per stream and cell; 0: no bound */
    int64_t stall_timeout_ms;    /* how long a subscriber may take nothing; 0: for ever */
    bool restart_in_place;       /* a worker that died is replaced; false: the kernel ends too.
                                    install: kernels shall be started so */
    uint64_t memory_limit;       /* bytes that the worker may use; 0: no limit */
    int64_t cell_timeout_ms;     /* how long a cell may run; 0: for ever */
    int64_t comm_timeout_ms;     /* the same of the handler of a comm message; -1: as a cell */
    const char *shell;           /* "auto", "plain" or "ipython" */
    bool facts;                  /* replies tell what cells read and left changed */
    bool no_ipykernel_shim;      /* `import ipykernel` finds the real one, or none */
    int log_level;               /* enum log_level; LEVEL_INFO if nothing else is said */
    const char *log_file;        /* NULL: stderr */
    struct option_truth history; /* cells are written to IPython's history */
    struct option_truth history_output; /* and their results */
    const char *history_file;           /* NULL: in the profile; ":memory:": in none */
    const char *ipython_dir;            /* NULL: $IPYTHONDIR, else ~/.ipython */
    const char *profile;                /* its name; NULL: "default" */
    const char *profile_dir;            /* NULL: that of `profile` in ipython_dir */
    /* The --Trait.name=value that are IPython's, and words for nobody; more are only counted. */
    const char *ignored[OPTIONS_IGNORED_MAX];
    const char *ignored_value[OPTIONS_IGNORED_MAX]; /* of "--Trait.name value"; else NULL */
    size_t ignored_count;
    /* install and uninstall: */
    enum install_where where; /* never INSTALL_NONE with them */
    const char *prefix;
    const char *name; /* a good one; NULL: "einkorn" */
    bool as_python3;  /* name is "python3", and another kernel of that name may be there */
    /* install: */
    const char *display_name;                     /* NULL: "Python 3.11.7 (Einkorn)" */
    const char *variables[OPTIONS_VARIABLES_MAX]; /* "NAME=VALUE" */
    size_t variable_count;
    /* COMMAND_PYTHON: what Python shall get behind its argv[0]; in argv, never at its begin. */
    char **python_argv;
};

/*
 * `max_output` starts at 1,000,000, then EINKORN_MAX_OUTPUT, then --max-output.
 * Strings point into argv, whose texts lose the quotes around a path.
 * -> 0, -EINVAL and one line for the user.
 */
int options_parse(int argc, char **argv, struct options *ret_options,
                  char ret_error[OPTIONS_ERROR_MAX]);

extern const char options_help[];

#endif
