/*
 * What of the host's environment a worker may see. Part of libeinkorn-host; any
 * thread. Owns nothing.
 *
 * An allowlist, because code of an agent runs in the worker and a host holds
 * keys under names that nobody can list: what is not known to be harmless and of
 * use stays out. What decides about the worker itself (its mode, its workspace,
 * its generation) is always the host's word, never inherited.
 */

#include "kernel/host.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"

extern char **environ;

enum when {
    ALWAYS,
    WITHOUT_ENV, /* unless a conda environment is selected: that one is the runtime then */
};

/* A name that ends in '*' is a beginning. */
static const struct {
    const char *name;
    enum when when;
} allowed[] = {
    {"HOME", ALWAYS},
    {"USER", ALWAYS},
    {"LOGNAME", ALWAYS},
    {"SHELL", ALWAYS},
    {"TERM", ALWAYS},
    {"LANG", ALWAYS},
    {"LC_*", ALWAYS},
    {"TZ", ALWAYS},
    {"TMPDIR", ALWAYS},
    {"MPL*", ALWAYS},
    {"OMP_NUM_THREADS", ALWAYS},
    {"OPENBLAS_NUM_THREADS", ALWAYS},
    {"MKL_NUM_THREADS", ALWAYS},
    {"NUMEXPR_NUM_THREADS", ALWAYS},
    {"NUMEXPR_MAX_THREADS", ALWAYS},
    {"VECLIB_MAXIMUM_THREADS", ALWAYS},
    {"BLIS_NUM_THREADS", ALWAYS},
    {"CUDA_VISIBLE_DEVICES", ALWAYS},
    {"CUDA_DEVICE_ORDER", ALWAYS},
    {"NVIDIA_VISIBLE_DEVICES", ALWAYS},
    {"OPENAI4S_GUARDS_OFF", ALWAYS},
    {"OPENAI4S_PROVENANCE_OFF", ALWAYS},
    {"OPENAI4S_SAFETY_AUDIT_HOOK", ALWAYS},
    {"OPENAI4S_DLOPEN_BLOCK_ROOTS", ALWAYS},
    {"OPENAI4S_DATA_DIR", ALWAYS},
    {"OPENAI4S_EGRESS", ALWAYS},
    {"OPENAI4S_ARTIFACTS_ROOTS", ALWAYS},
    {"VIRTUAL_ENV", WITHOUT_ENV},
};

static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

static bool is_name(const char *entry, const char *name)
{
    size_t n = strlen(name);

    if (n > 0 && name[n - 1] == '*') {
        return strncmp(entry, name, n - 1) == 0;
    }
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool may_pass(const char *entry, bool env_selected)
{
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (is_name(entry, allowed[i].name)) {
            return allowed[i].when == ALWAYS || !env_selected;
        }
    }
    return false;
}

/* The value of a variable in an environment; NULL: it is not there. */
static const char *value_of(char *const *environment, const char *name)
{
    for (; *environment; environment++) {
        if (is_name(*environment, name)) {
            return *environment + strlen(name) + 1;
        }
    }
    return NULL;
}

/* Entries one after the other, each with its NUL. */
struct entries {
    struct buffer text;
    size_t count;
};

static void put(struct entries *self, const char *name, const char *value)
{
    buffer_put_text(&self->text, name);
    buffer_put_char(&self->text, '=');
    buffer_put(&self->text, value, strlen(value) + 1);
    self->count++;
}

/* Appends a path, absolute and without links as far as it exists (as Python's Path.resolve). */
static void put_resolved(struct entries *self, const char *name, const char *path)
{
    char *head = xstrdup(path), *resolved = NULL;
    struct buffer value = BUFFER_INIT;
    size_t n = strlen(head);

    for (;;) {
        resolved = realpath(n > 0 ? head : (*path == '/' ? "/" : "."), NULL);
        if (resolved || n == 0) {
            break;
        }
        while (n > 0 && head[n - 1] != '/') {
            n--;
        }
        while (n > 0 && head[n - 1] == '/') {
            n--;
        }
        head[n] = '\0';
    }
    buffer_put_text(&value, resolved ? resolved : "/");
    path += n;
    path += strspn(path, "/");
    if (*path) {
        if (value.n > 1) {
            buffer_put_char(&value, '/');
        }
        buffer_put_text(&value, path);
    }
    buffer_put_char(&value, '\0');
    put(self, name, (const char *)value.p);
    buffer_release(&value);
    free(resolved);
    free(head);
}

static void put_leader(struct buffer *path, const char *directory, size_t n, const char *more)
{
    buffer_put(path, directory, n);
    buffer_put_text(path, more);
}

/*
 * What a shell of a cell finds first is the cell's own Python: the selected
 * environment's, or the directory of the interpreter as it was named (a venv's is
 * a link, and the directory that it points to has none of the venv's packages).
 * A relative one would put the workspace on PATH.
 */
static void put_path(struct entries *self, const struct host_environment *of, const char *inherited)
{
    struct buffer path = BUFFER_INIT;

    if (of->env_root) {
        put_leader(&path, of->env_root, strlen(of->env_root), "/bin");
    } else if (of->interpreter && *of->interpreter == '/') {
        const char *slash = strrchr(of->interpreter, '/');

        put_leader(&path, of->interpreter, (size_t)(slash - of->interpreter), "");
        if (path.n == 0) {
            buffer_put_char(&path, '/');
        }
    }
    for (size_t leader = path.n; *inherited;) {
        size_t n = strcspn(inherited, ":");

        if (leader == 0 || n != leader || memcmp(inherited, path.p, n) != 0) {
            if (path.n > 0) {
                buffer_put_char(&path, ':');
            }
            buffer_put(&path, inherited, n);
        }
        inherited += n + (inherited[n] == ':' ? 1 : 0);
    }
    buffer_put_char(&path, '\0');
    put(self, "PATH", (const char *)path.p);
    buffer_release(&path);
}

static void put_conda(struct entries *self, const struct host_environment *of)
{
    const char *slash = strrchr(of->env_root, '/');

    put(self, "CONDA_PREFIX", of->env_root);
    put(self, "CONDA_DEFAULT_ENV",
        of->env_name ? of->env_name : (slash ? slash + 1 : of->env_root));
    put(self, "CONDA_SHLVL", "1");
}

/* matplotlib writes its font list there; where it cannot, it makes one for each process. */
static void put_matplotlib(struct entries *self, char *const *source)
{
    const char *directory = value_of(source, "TMPDIR");
    struct buffer value = BUFFER_INIT;

    if (value_of(source, "MPLCONFIGDIR")) {
        return; /* it has passed */
    }
    buffer_put_text(&value, directory && *directory ? directory : "/tmp");
    buffer_put(&value, "/openai4s-matplotlib", sizeof "/openai4s-matplotlib");
    put(self, "MPLCONFIGDIR", (const char *)value.p);
    buffer_release(&value);
}

/* One block: the array, then the texts. */
static char **packed(struct entries *self)
{
    size_t head = (self->count + 1) * sizeof(char *);
    char **result = xmalloc(head + self->text.n);
    char *at = (char *)result + head;

    memcpy(at, self->text.p, self->text.n);
    for (size_t i = 0; i < self->count; i++) {
        result[i] = at;
        at += strlen(at) + 1;
    }
    result[self->count] = NULL;
    buffer_release(&self->text);
    return result;
}

char **host_environment_new(const struct host_environment *of)
{
    char *const *source = of->source ? of->source : environ;
    const char *path = value_of(source, "PATH");
    struct entries entries = {BUFFER_INIT, 0};

    for (char *const *entry = source; *entry; entry++) {
        if (may_pass(*entry, of->env_root != NULL)) {
            buffer_put(&entries.text, *entry, strlen(*entry) + 1);
            entries.count++;
        }
    }
    put_path(&entries, of, path ? path : default_path);
    put_matplotlib(&entries, source);
    if (of->env_root) {
        put_conda(&entries, of);
    }
    put(&entries, "OPENAI4S_KERNEL_MODE", of->mode ? of->mode : "repl");
    if (of->generation) {
        put(&entries, "OPENAI4S_KERNEL_GENERATION", of->generation);
    }
    put_resolved(&entries, "OPENAI4S_WORKSPACE", of->cwd ? of->cwd : ".");
    put_resolved(&entries, "PWD", of->cwd ? of->cwd : ".");
    if (of->repo_root) {
        put_resolved(&entries, "PYTHONPATH", of->repo_root);
    }
    return packed(&entries);
}
