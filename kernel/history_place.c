/*
 * Finds and makes the place of the history, by IPython's rules (IPython/paths.py,
 * core/profiledir.py). Runs in the kernel process, on the keeper's thread, but for
 * history_place_wanted. Owns nothing.
 */

#include "kernel/history_place.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/buffer.h"
#include "bridge/xalloc.h"
#include "kernel/options.h"

enum { PASSWORD_ENTRY_MAX = 16 << 10, PRIVATE = 0700 };

bool history_place_wanted(const struct options *options)
{
    const char *file = options->history_file;

    return options->history.is && (!file || (*file && strcmp(file, ":memory:") != 0));
}

/* -> the caller's to free; NULL: there is none. */
static char *home(void)
{
    const char *variable = getenv("HOME");
    char room[PASSWORD_ENTRY_MAX];
    struct passwd entry, *found = NULL;

    if (variable && *variable) {
        return xstrdup(variable);
    }
    return getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found
               ? xstrdup(found->pw_dir)
               : NULL;
}

/* Appends a path whose first part may be "~". -> 0, -ENOENT: no home is known. */
static int put_path(struct buffer *out, const char *path)
{
    char *directory = NULL;

    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        directory = home();
        if (!directory) {
            return -ENOENT;
        }
        buffer_put_text(out, directory);
        path++;
    }
    buffer_put_text(out, path);
    free(directory);
    return 0;
}

static int put_profile(struct buffer *out, const struct options *options)
{
    const char *variable = getenv("IPYTHONDIR");
    int r;

    if (options->profile_dir) {
        return put_path(out, options->profile_dir);
    }
    r = put_path(out, options->ipython_dir      ? options->ipython_dir
                      : variable && variable[0] ? variable
                                                : "~/.ipython");
    if (r == 0) {
        buffer_printf(out, "/profile_%s", options->profile ? options->profile : "default");
    }
    return r;
}

char *history_place_path(const struct options *options)
{
    struct buffer path = BUFFER_INIT;
    size_t n;
    int r;

    if (options->history_file) {
        r = put_path(&path, options->history_file);
    } else {
        r = put_profile(&path, options);
        buffer_put_text(&path, "/history.sqlite");
    }
    buffer_put_char(&path, '\0');
    if (r < 0) {
        buffer_release(&path);
        return NULL;
    }
    return (char *)buffer_detach(&path, &n);
}

int history_place_make(const char *path)
{
    char *text = xstrdup(path);
    int r = 0;

    for (char *slash = strchr(text + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        /* What is there need not be ours to make: a directory above may be read-only. */
        if (mkdir(text, PRIVATE) != 0 && errno != EEXIST) {
            struct stat there;
            int error = errno;

            r = stat(text, &there) == 0 ? 0 : -error;
        }
        *slash = '/';
    }
    free(text);
    return r;
}
