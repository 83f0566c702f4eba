/*
 * `einkorn install`. Kernel process, which does nothing else then.
 *
 * The kernelspec pins everything that a start would otherwise have to find out:
 * the Python, its libpython and its version. Before it is written a cell has
 * run in that Python, in the way that is pinned: what cannot work is refused
 * here, with the reason, and not in somebody's notebook.
 */

#include "kernelspec/install.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/xalloc.h"
#include "kernel/paths.h"
#include "kernel/python_path.h"
#include "kernelspec/files.h"
#include "kernelspec/probe.h"
#include "kernelspec/spec.h"
#include "kernelspec/trial.h"

/* "NAME=VALUE" as a member; a name that comes twice has its last value. -> 0, -1: not UTF-8. */
static int set_variable(json_t *env, const char *text)
{
    const char *equals = strchr(text, '=');
    char *name = text_format("%.*s", (int)(equals - text), text);
    int r = json_object_set_new(env, name, json_string(equals + 1));
    free(name);
    return r;
}

/* -> 0, -1: something is not UTF-8. */
static int add_env(json_t *spec, const struct options *options)
{
    json_t *env = json_object();
    int r = 0;
    for (size_t i = 0; r == 0 && i < options->variable_count; i++) {
        r = set_variable(env, options->variables[i]);
    }
    if (r == 0 && options->variable_count > 0) {
        r = json_object_set(spec, "env", env);
    }
    json_decref(env);
    return r;
}

/* Options of the kernel that the user wants at each start. -> 0, -1. */
static int add_arguments(json_t *spec, const struct options *options)
{
    json_t *argv = json_object_get(spec, "argv");
    if (!options->restart_in_place) {
        return 0;
    }
    return json_array_append_new(argv, json_string("--on-death")) == 0
               ? json_array_append_new(argv, json_string("restart"))
               : -1;
}

/*
 * The text of kernel.json, on the heap; NULL: a path is not UTF-8. By
 * kernel_protocol_version from 5.5 on launchers know that the kernel takes a
 * registration file as well as a connection file (JEP 66).
 */
static char *kernel_json(const struct options *options, const struct paths *paths,
                         const struct probe *python, const char *libpython)
{
    char *display_name = options->display_name
                             ? xstrdup(options->display_name)
                             : text_format("Python %s (Einkorn)", python->version);
    json_t *spec =
        json_pack("{s:[s, s, s, s, s, s, s, s, s, s], s:s, s:s, s:s, s:s, s:{s:{s:s}, s:{s:s}}}",
                  "argv", paths->program, "kernel", "--python", python->executable, "--libpython",
                  libpython, "--python-version", python->version, "-f", "{connection_file}",
                  "display_name", display_name, "language", "python", "interrupt_mode", "message",
                  "kernel_protocol_version", "5.5", "metadata", "einkorn", "version",
                  EINKORN_VERSION, "interpreter", "path", python->executable);
    free(display_name);
    bool complete = spec && add_arguments(spec, options) == 0 && add_env(spec, options) == 0;
    char *text = complete ? json_dumps(spec, JSON_INDENT(1)) : NULL;
    json_decref(spec);
    return text;
}

/* ---- whether it works --------------------------------------------------------- */

/* The trial's environment: that of the kernelspec, nothing of the user's that leads Python astray.
 */
static void set_environment(const struct options *options)
{
    (void)unsetenv("PYTHONHOME");
    (void)unsetenv("PYTHONPATH");
    (void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    for (size_t i = 0; i < options->variable_count; i++) {
        const char *equals = strchr(options->variables[i], '=');
        char *name =
            text_format("%.*s", (int)(equals - options->variables[i]), options->variables[i]);
        (void)setenv(name, equals + 1, 1);
        free(name);
    }
}

/* -> the last line of why not, the caller's; NULL: it works. */
static char *try_out(const struct paths *paths, const struct probe *python, const char *libpython)
{
    struct buffer output = BUFFER_INIT;
    int r = trial_run(paths, python->executable, libpython, "pass", &output);
    char *reason = r < 0 ? trial_last_line(&output) : NULL;
    buffer_release(&output);
    return reason;
}

/*
 * Chooses the way in: by the shared library, if that is what this Python runs by.
 * -> what to pin as --libpython, with a remark for the user if the library had to be
 * passed over; NULL: neither works, and that is said.
 */
static const char *choose_way(const struct paths *paths, const struct probe *python,
                              char **ret_remark)
{
    const char *executable = python->executable;
    bool has_library = *python->libpython != '\0';
    char *library_reason = has_library ? try_out(paths, python, python->libpython) : NULL;
    const char *chosen = NULL;
    if (has_library && !library_reason) {
        return python->libpython;
    }
    char *reason = try_out(paths, python, "");
    if (reason) {
        (void)fprintf(stderr,
                      "einkorn: %s runs no cells (%s%s%s): mend it, or name another with --python "
                      "PATH\n",
                      executable, library_reason ? library_reason : "", library_reason ? "; " : "",
                      reason);
    } else {
        chosen = "";
    }
    if (chosen && has_library) {
        *ret_remark = text_format("%s does not serve (%s)", python->libpython, library_reason);
    }
    free(reason);
    free(library_reason);
    return chosen;
}

/* ---- the command ---------------------------------------------------------------- */

/* Whether that place may be written to; if not, that is said. */
static bool may_write(const struct options *options, const char *directory)
{
    if (!directory) {
        (void)fprintf(stderr, "einkorn: --user needs a home directory: set HOME, or use "
                              "--prefix DIR\n");
        return false;
    }
    if (!options->as_python3 && spec_owner(directory) == SPEC_FOREIGN) {
        (void)fprintf(stderr,
                      "einkorn: %s is another kernel's: choose another name with --name NAME%s\n",
                      directory,
                      options->name && strcmp(options->name, "python3") == 0
                          ? ", or say --as-python3 to stand in for it"
                          : "");
        return false;
    }
    return true;
}

static int install_into(const char *directory, const struct options *options,
                        const struct paths *paths, const struct probe *python)
{
    char *remark = NULL;
    const char *libpython = choose_way(paths, python, &remark);
    char *json = libpython ? kernel_json(options, paths, python, libpython) : NULL;
    int status = EXIT_FAILURE;
    int r = json ? spec_write(directory, paths->kernelspec, json) : 0;
    if (libpython && !json) {
        (void)fprintf(stderr, "einkorn: a path, a variable or the display name is not UTF-8, and "
                              "kernel.json must be\n");
    } else if (r < 0) {
        (void)fprintf(stderr, "einkorn: cannot write the kernelspec into %s: %s\n", directory,
                      strerror(-r));
    } else if (json) {
        probe_compile(python, paths->python);
        (void)printf("Installed the kernelspec %s in %s\n",
                     options->name ? options->name : "einkorn", directory);
        status = EXIT_SUCCESS;
    }
    if (status == EXIT_SUCCESS && remark) {
        (void)printf("%s: cells run in the interpreter itself\n", remark);
    }
    free(json);
    free(remark);
    return status;
}

int install_run(const struct options *options)
{
    struct paths paths;
    int r = paths_init(&paths);
    if (r < 0) {
        (void)fprintf(stderr, "einkorn: cannot find my own place in /proc/self/exe: %s\n",
                      strerror(-r));
        return EXIT_FAILURE;
    }
    char *python = python_path(options->python);
    char error[PROBE_ERROR_MAX];
    struct probe probe;
    int status = EXIT_FAILURE;
    if (probe_init(&probe, python, &paths, error) < 0) {
        (void)fprintf(stderr, "einkorn: %s\n", error);
    } else {
        char *directory = spec_directory(options, probe.prefix);
        set_environment(options);
        if (may_write(options, directory)) {
            status = install_into(directory, options, &paths, &probe);
        }
        free(directory);
        probe_release(&probe);
    }
    free(python);
    paths_release(&paths);
    return status;
}
