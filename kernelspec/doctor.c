/*
 * `einkorn doctor`. Kernel process, which does nothing else then.
 *
 * It does not stop at the first thing that is wrong: each section says what it
 * found, and `advice` gathers what to do. The packages are looked for by a cell
 * in the very worker that a kernel would have, so what PYTHONPATH, a user site
 * or a .pth file does to it is seen.
 */

#include "kernelspec/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "bridge/xalloc.h"
#include "kernel/paths.h"
#include "kernel/python_path.h"
#include "kernelspec/files.h"
#include "kernelspec/places.h"
#include "kernelspec/probe.h"
#include "kernelspec/trial.h"

struct doctor {
    struct paths paths;
    struct buffer advice; /* a line each */
    bool complete;        /* our own files are all there */
    bool runs;            /* a cell has run */
};

static void say(const char *name, const char *text)
{
    (void)printf("  %-18s %s\n", name, text);
}

__attribute__((format(printf, 2, 3))) static void advise(struct doctor *self, const char *format,
                                                         ...)
{
    char line[PROBE_ERROR_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    buffer_printf(&self->advice, "  %s\n", line);
}

/* ---- Einkorn -------------------------------------------------------------------- */

static void look_at_part(struct doctor *self, const char *name, const char *path, int mode)
{
    bool there = access(path, mode) == 0;
    char *missing = there ? NULL : text_format("MISSING: %s", path);
    say(name, there ? path : missing);
    self->complete = self->complete && there;
    free(missing);
}

static void look_at_einkorn(struct doctor *self)
{
    char *half = text_format("%s/einkorn/hooks.py", self->paths.python);
    char *probe = text_format("%s/probe.py", self->paths.kernelspec);
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    (void)printf("Einkorn %s, ZeroMQ %d.%d.%d\n", EINKORN_VERSION, major, minor, patch);
    self->complete = true;
    look_at_part(self, "program", self->paths.program, X_OK);
    look_at_part(self, "launcher", self->paths.launcher, X_OK);
    look_at_part(self, "runner", self->paths.runner, R_OK);
    look_at_part(self, "Python half", half, R_OK);
    look_at_part(self, "probe", probe, R_OK);
    if (!self->complete) {
        advise(self, "Install Einkorn anew: parts of it are missing. bin and lib belong together.");
    }
    free(half);
    free(probe);
}

/* ---- the Python ------------------------------------------------------------------- */

static const struct {
    const char *name, *use;
} packages[] = {
    {"comm", "for widgets; ipywidgets brings it"},
    {"ipython", "for magics and IPython.display"},
    {"ipykernel", "for libraries that import it"},
    {"debugpy", "for debugging"},
    {"matplotlib-inline", "for plots below their cell"},
};
enum { PACKAGES = sizeof packages / sizeof packages[0] };

/* Prints 2, then "name version" or "name -" for each package. */
static char *cell(void)
{
    struct buffer code = BUFFER_INIT;
    buffer_put_text(&code, "print(1 + 1)\n"
                           "from importlib import metadata\n"
                           "def version(name):\n"
                           "    try:\n"
                           "        return metadata.version(name)\n"
                           "    except metadata.PackageNotFoundError:\n"
                           "        return '-'\n"
                           "for name in (");
    for (size_t i = 0; i < PACKAGES; i++) {
        buffer_printf(&code, "'%s', ", packages[i].name);
    }
    buffer_put_text(&code, "):\n"
                           "    print(name, version(name))\n");
    buffer_put_char(&code, '\0');
    return (char *)code.p;
}

/* What the cell printed behind its "2". */
static void tell_packages(struct doctor *self, const char *python, char *lines)
{
    struct buffer missing = BUFFER_INIT;
    (void)printf("Packages in it\n");
    for (char *line = strsep(&lines, "\n"); line; line = strsep(&lines, "\n")) {
        for (size_t i = 0; i < PACKAGES; i++) {
            size_t n = strlen(packages[i].name);
            if (strncmp(line, packages[i].name, n) != 0 || line[n] != ' ') {
                continue;
            }
            const char *version = line + n + 1;
            char *none = text_format("not installed (%s)", packages[i].use);
            say(packages[i].name, strcmp(version, "-") == 0 ? none : version);
            if (strcmp(version, "-") == 0) {
                buffer_printf(&missing, " %s", packages[i].name);
            }
            free(none);
        }
    }
    if (missing.n > 0) {
        advise(self, "Nothing more is needed. Optional: %s -m pip install%.*s", python,
               (int)missing.n, (const char *)missing.p);
    }
    buffer_release(&missing);
}

/* Tries one way in. -> whether a cell ran; then what it printed is in `output`, with a NUL. */
static bool try_way(struct doctor *self, const char *way, const struct probe *python,
                    const char *libpython, struct buffer *output)
{
    char *code = cell();
    bool ran = trial_run(&self->paths, python->executable, libpython, code, output) == 0 &&
               output->n > 2 && memcmp(output->p, "2\n", 2) == 0;
    buffer_put_char(output, '\0');
    char *text = ran ? NULL : text_format("FAILED: %s", (const char *)output->p);
    say(way, ran ? "1 + 1 is 2" : text);
    free(text);
    free(code);
    return ran;
}

static void try_cells(struct doctor *self, const struct probe *python)
{
    struct buffer output = BUFFER_INIT;
    bool has_library = *python->libpython != '\0';
    (void)printf("A cell in it\n");
    if (has_library) {
        self->runs = try_way(self, "by its library", python, python->libpython, &output);
    }
    if (!self->runs) {
        buffer_clear(&output);
        self->runs = try_way(self, "in itself", python, "", &output);
        if (self->runs && has_library) {
            advise(self, "%s does not serve: `einkorn install` chooses the other way by itself",
                   python->libpython);
        }
    }
    if (self->runs) {
        tell_packages(self, python->executable, (char *)output.p + 2);
    } else {
        advise(self, "Mend %s (see above), or use another with --python PATH", python->executable);
    }
    buffer_release(&output);
}

/* -> its prefix, the caller's; NULL: it cannot be used. */
static char *look_at_python(struct doctor *self, const char *path)
{
    char error[PROBE_ERROR_MAX];
    struct probe python;
    (void)printf("Python\n");
    if (probe_init(&python, path, &self->paths, error) < 0) {
        say("path", path);
        say("UNUSABLE", error);
        advise(self, "Name a Python that works, 3.11 or newer, with --python PATH");
        return NULL;
    }
    say("path", python.executable);
    say("version", python.version);
    say("prefix", python.prefix);
    if (strcmp(python.prefix, python.base) != 0) {
        char *text = text_format("of %s", python.base);
        say("environment", text);
        free(text);
    }
    say("library", *python.libpython ? python.libpython : "none: it is all in the executable");
    if (self->complete) {
        (void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        (void)fflush(stdout);
        try_cells(self, &python);
    }
    char *prefix = python.prefix;
    python.prefix = NULL;
    probe_release(&python);
    return prefix;
}

/* ---- kernelspecs -------------------------------------------------------------------- */

static void tell_kernelspec(const struct place *place, void *arg)
{
    struct doctor *self = arg;
    const char *gone = place_gone(place);
    (void)printf("  %s\n", place->directory);
    say("  Python", place->python ? place->python : "the one that is found at start");
    if (gone) {
        say("  GONE", gone);
        advise(self,
               "%s is gone: install the kernelspec %s anew (einkorn install --name %s), or remove "
               "%s",
               gone, place->name, place->name, place->directory);
    }
}

int doctor_run(const struct options *options)
{
    struct doctor self = {.complete = false};
    if (paths_init(&self.paths) < 0) {
        (void)fprintf(stderr, "einkorn: cannot find my own place: /proc is not there\n");
        return EXIT_FAILURE;
    }
    char *python = python_path(options->python);
    look_at_einkorn(&self);
    char *prefix = look_at_python(&self, python);
    (void)printf("Kernelspecs of Einkorn\n");
    if (places_each(prefix, tell_kernelspec, &self) == 0) {
        (void)printf("  none\n");
        if (self.runs) {
            advise(&self, "Make it known to Jupyter: einkorn install --sys-prefix --python %s",
                   python);
        }
    }
    (void)printf("%s\n%.*s", self.runs ? "A kernel runs." : "NO KERNEL RUNS.", (int)self.advice.n,
                 self.advice.n > 0 ? (const char *)self.advice.p : "");
    bool runs = self.runs;
    free(prefix);
    free(python);
    buffer_release(&self.advice);
    paths_release(&self.paths);
    return runs ? EXIT_SUCCESS : EXIT_FAILURE;
}
