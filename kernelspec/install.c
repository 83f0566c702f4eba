/*
 * `einkorn install`. Kernel process, which does nothing else then.
 *
 * The kernelspec pins everything that a start would otherwise have to find out:
 * the Python, its libpython and its version. Every file is written beside its
 * place and renamed into it, kernel.json last: Jupyter takes a directory for a
 * kernel by that file, so it never sees half of one, and an older Einkorn in
 * the same place is replaced without a moment in which there is none.
 */

#include "kernelspec/install.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernel/paths.h"
#include "kernel/python_path.h"
#include "kernelspec/probe.h"

enum { EXIT_USAGE = 2 };

static const char *const logos[] = {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg"};

static char *format(const char *text, ...) __attribute__((format(printf, 1, 2)));

/* A formatted string on the heap. */
static char *format(const char *text, ...)
{
    char *result;
    va_list arguments;
    va_start(arguments, text);
    int n = vasprintf(&result, text, arguments);
    va_end(arguments);
    return n < 0 ? xstrdup("") : result;
}

/* The value of a variable; NULL where it is missing or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- files ------------------------------------------------------------------- */

/* Makes a directory and those above it. -> 0, -errno. */
static int make_directories(const char *path)
{
    char *part = xstrdup(path);
    int r = 0;
    for (char *end = part + 1; r == 0; end++) {
        if (*end != '/' && *end != '\0') {
            continue;
        }
        char kept = *end;
        *end = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST) {
            r = -errno;
        }
        *end = kept;
        if (kept == '\0') {
            break;
        }
    }
    free(part);
    return r;
}

static int write_all(int fd, struct slice bytes)
{
    for (size_t done = 0; done < bytes.n;) {
        ssize_t n = write(fd, bytes.p + done, bytes.n - done);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Puts a whole file in its place in one step. -> 0, -errno. */
static int put_file(const char *dir, const char *name, struct slice bytes)
{
    char *path = format("%s/%s", dir, name);
    char *draft = format("%s/.%s.%ld", dir, name, (long)getpid());
    int r;
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        r = -errno;
    } else {
        r = write_all(fd, bytes);
        if (close(fd) < 0 && r == 0) {
            r = -errno;
        }
        if (r == 0 && rename(draft, path) < 0) {
            r = -errno;
        }
        if (r < 0) {
            (void)unlink(draft);
        }
    }
    free(draft);
    free(path);
    return r;
}

/* Appends a file's bytes. -> 0, -errno. */
static int read_file(const char *path, struct buffer *buffer)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = 0;
    for (;;) {
        char bytes[8192];
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            r = -errno;
            break;
        }
        buffer_put(buffer, bytes, n > 0 ? (size_t)n : 0);
    }
    (void)close(fd);
    return r;
}

static int copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    char *source = format("%s/%s", from_dir, name);
    struct buffer bytes = BUFFER_INIT;
    int r = read_file(source, &bytes);
    if (r == 0) {
        r = put_file(to_dir, name, buffer_slice(&bytes));
    }
    buffer_release(&bytes);
    free(source);
    return r;
}

/* ---- what goes where --------------------------------------------------------------- */

/* Jupyter's data directory of the user, as jupyter_core finds it. NULL: no home. */
static char *user_data_directory(void)
{
    const char *path = environment("JUPYTER_DATA_DIR");
    if (path) {
        return xstrdup(path);
    }
    path = environment("XDG_DATA_HOME");
    if (path) {
        return format("%s/jupyter", path);
    }
    path = environment("HOME");
    return path ? format("%s/.local/share/jupyter", path) : NULL;
}

static char *choose_directory(const struct options *options, const struct probe *python,
                              const char *name)
{
    char *data = NULL;
    switch (options->where) {
    case INSTALL_USER:
        data = user_data_directory();
        break;
    case INSTALL_SYS_PREFIX:
        data = format("%s/share/jupyter", python->prefix);
        break;
    case INSTALL_PREFIX:
        data = format("%s/share/jupyter", options->prefix);
        break;
    case INSTALL_NONE:
        break;
    }
    char *directory = data ? format("%s/kernels/%s", data, name) : NULL;
    free(data);
    return directory;
}

/* Jupyter's rule for the name of a kernelspec; "." and ".." it forgot. */
static bool name_is_good(const char *name)
{
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) {
            return false;
        }
    }
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/*
 * The text of kernel.json, on the heap; NULL: a path is not UTF-8. There is no
 * kernel_protocol_version: it would promise the registration handshake of JEP 66.
 */
static char *kernel_json(const struct options *options, const struct paths *paths,
                         const struct probe *python)
{
    char *display_name = options->display_name ? xstrdup(options->display_name)
                                               : format("Python %s (Einkorn)", python->version);
    json_t *spec = json_pack(
        "{s:[s, s, s, s, s, s, s, s, s, s], s:s, s:s, s:s, s:{s:{s:s}, s:{s:s}}}", "argv",
        paths->program, "kernel", "--python", python->executable, "--libpython", python->libpython,
        "--python-version", python->version, "-f", "{connection_file}", "display_name",
        display_name, "language", "python", "interrupt_mode", "message", "metadata", "einkorn",
        "version", EINKORN_VERSION, "interpreter", "path", python->executable);
    free(display_name);
    char *text = spec ? json_dumps(spec, JSON_INDENT(1)) : NULL;
    json_decref(spec);
    return text;
}

/* ---- the command ------------------------------------------------------------------- */

static int write_kernelspec(const char *directory, const struct paths *paths, const char *json)
{
    int r = make_directories(directory);
    for (size_t i = 0; r == 0 && i < sizeof(logos) / sizeof(logos[0]); i++) {
        r = copy_file(paths->kernelspec, directory, logos[i]);
    }
    if (r == 0) {
        r = put_file(directory, "kernel.json", slice_of(json));
    }
    return r;
}

static int install_for(const struct options *options, const struct paths *paths,
                       const struct probe *python)
{
    const char *name = options->name ? options->name : "einkorn";
    char *directory = choose_directory(options, python, name);
    char *json = kernel_json(options, paths, python);
    int status = EXIT_FAILURE;
    if (!directory) {
        (void)fprintf(stderr, "einkorn: --user needs a home directory: set HOME, or use "
                              "--prefix DIR\n");
    } else if (!json) {
        (void)fprintf(stderr, "einkorn: a path or the display name is not UTF-8, and kernel.json "
                              "must be\n");
    } else {
        int r = write_kernelspec(directory, paths, json);
        if (r < 0) {
            (void)fprintf(stderr, "einkorn: cannot write the kernelspec into %s: %s\n", directory,
                          strerror(-r));
        } else {
            probe_compile(python, paths->python);
            (void)printf("Installed the kernelspec %s in %s\n", name, directory);
            status = EXIT_SUCCESS;
        }
    }
    if (status == EXIT_SUCCESS && !*python->libpython) {
        (void)printf("%s has no shared libpython (on Debian it is a package of its own, "
                     "libpython3-dev): cells run in the interpreter itself, which works as well\n",
                     python->executable);
    }
    free(json);
    free(directory);
    return status;
}

int install_run(const struct options *options)
{
    if (options->where == INSTALL_NONE) {
        (void)fprintf(stderr, "einkorn: where to? Say one of --user, --sys-prefix, --prefix DIR\n");
        return EXIT_USAGE;
    }
    if (options->name && !name_is_good(options->name)) {
        (void)fprintf(stderr,
                      "einkorn: --name %s: a kernel's name has only letters, digits, "
                      "\".\", \"_\" and \"-\"\n",
                      options->name);
        return EXIT_USAGE;
    }
    struct paths paths;
    int r = paths_init(&paths);
    if (r < 0) {
        (void)fprintf(stderr, "einkorn: cannot find my own place in /proc/self/exe: %s\n",
                      strerror(-r));
        return EXIT_FAILURE;
    }
    char *python = python_path(options->python);
    char *script = format("%s/probe.py", paths.kernelspec);
    char error[PROBE_ERROR_MAX];
    struct probe probe;
    int status = EXIT_FAILURE;
    if (probe_init(&probe, python, script, error) < 0) {
        (void)fprintf(stderr, "einkorn: %s\n", error);
    } else {
        status = install_for(options, &paths, &probe);
        probe_release(&probe);
    }
    free(script);
    free(python);
    paths_release(&paths);
    return status;
}
