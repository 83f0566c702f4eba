/*
 * Kernelspecs on the disk. Kernel process, in install, uninstall and doctor.
 * Owns nothing.
 */

#include "kernelspec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bridge/xalloc.h"
#include "kernelspec/files.h"

/* kernel.json is the last, see spec_write. */
static const char *const names[] = {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg",
                                    "kernel.json"};
enum { NAMES = sizeof names / sizeof names[0], LOGOS = NAMES - 1 };

/* Where a foreign kernelspec is kept; Jupyter looks into no directory in a kernelspec. */
#define KEPT "before-einkorn"

/* The value of a variable; NULL where it is missing or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

char *spec_user_data(void)
{
    const char *path = variable("JUPYTER_DATA_DIR");
    if (path) {
        return xstrdup(path);
    }
    path = variable("XDG_DATA_HOME");
    if (path) {
        return text_format("%s/jupyter", path);
    }
    path = variable("HOME");
    return path ? text_format("%s/.local/share/jupyter", path) : NULL;
}

char *spec_directory(const struct options *options, const char *prefix)
{
    const char *name = options->name ? options->name : "einkorn";
    char *data = options->where == INSTALL_USER
                     ? spec_user_data()
                     : text_format("%s/share/jupyter",
                                   options->where == INSTALL_PREFIX ? options->prefix : prefix);
    char *directory = data ? text_format("%s/kernels/%s", data, name) : NULL;
    free(data);
    return directory;
}

json_t *spec_read(const char *directory)
{
    char *path = text_format("%s/kernel.json", directory);
    json_t *spec = json_load_file(path, 0, NULL);
    free(path);
    return spec;
}

enum spec_owner spec_owner(const char *directory)
{
    char *path = text_format("%s/kernel.json", directory);
    bool exists = access(path, F_OK) == 0;
    json_t *spec = spec_read(directory);
    bool ours = json_object_get(json_object_get(spec, "metadata"), "einkorn") != NULL;
    json_decref(spec);
    free(path);
    return ours ? SPEC_OURS : exists ? SPEC_FOREIGN : SPEC_NONE;
}

/* Copies a foreign kernelspec's files, those that we are about to replace. */
static int keep(const char *directory)
{
    char *kept = text_format("%s/" KEPT, directory);
    int r = files_make_directories(kept);
    for (size_t i = 0; r == 0 && i < NAMES; i++) {
        r = files_copy(directory, kept, names[i]);
        r = r == -ENOENT ? 0 : r;
    }
    free(kept);
    return r;
}

int spec_write(const char *directory, const char *logos, const char *json)
{
    int r = files_make_directories(directory);
    if (r == 0 && spec_owner(directory) == SPEC_FOREIGN) {
        r = keep(directory);
    }
    for (size_t i = 0; r == 0 && i < LOGOS; i++) {
        r = files_copy(logos, directory, names[i]);
    }
    return r == 0 ? files_put(directory, names[LOGOS], slice_of(json)) : r;
}

int spec_remove(const char *directory, bool *ret_restored)
{
    char *kept = text_format("%s/" KEPT, directory);
    bool restored = false;
    int r = 0;
    /* Backwards: kernel.json first, so that Jupyter never sees one without its logos. */
    for (size_t i = NAMES; r == 0 && i > 0; i--) {
        r = files_move(kept, directory, names[i - 1]);
        restored = restored || r == 0;
        r = r == -ENOENT || r == -ENOTDIR ? files_remove(directory, names[i - 1]) : r;
        r = r == -ENOENT ? 0 : r;
    }
    if (r == 0) {
        (void)rmdir(kept);
        (void)rmdir(directory); /* stays if there are files of others in it */
        *ret_restored = restored;
    }
    free(kept);
    return r;
}
