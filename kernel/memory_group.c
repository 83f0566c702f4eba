/*
 * Reads the memory cgroup. Runs in the kernel process. Owns nothing. Linux only.
 *
 * /proc/self/cgroup tells the group's path in its hierarchy, /proc/self/mountinfo
 * where that hierarchy is mounted and from which group on; in a container both
 * can be anything. A limit holds for all groups below, so all of them upwards are
 * looked at. What is not there is not known; nothing here fails.
 */

#include "kernel/memory_group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/xalloc.h"
#include "kernel/number.h"

/* The files of one version of cgroups. */
struct version {
    const char *filesystem;
    const char *limit, *used, *peak, *events;
};

static const struct version versions[] = {
    {"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes",
     "memory.oom_control"},
    {"cgroup2", "memory.max", "memory.current", "memory.peak", "memory.events"},
};

/* v1 writes "no limit" as the largest number of pages. */
static const uint64_t no_limit = UINT64_C(1) << 60;

/* ---- small files ---------------------------------------------------------------- */

static FILE *open_file(const char *root, const char *path, const char *name)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof full, "%s%s/%s", root, path, name);

    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

/* -> false: no such file, or no number in it ("max"). */
static bool read_number(const char *root, const char *path, const char *name, uint64_t *ret_value)
{
    FILE *file = open_file(root, path, name);
    char line[64];
    const char *at = line;
    bool found = file && fgets(line, sizeof line, file) && number_take(&at, 10, ret_value);

    if (file) {
        (void)fclose(file);
    }
    return found;
}

/* The number behind a word at the beginning of a line. */
static bool read_counter(const char *root, const char *path, const char *name, const char *word,
                         uint64_t *ret_value)
{
    FILE *file = open_file(root, path, name);
    bool found = false;
    char line[256];

    while (file && !found && fgets(line, sizeof line, file)) {
        size_t n = strcspn(line, " ");
        const char *at = line + n;

        found = n == strlen(word) && strncmp(line, word, n) == 0 && number_take(&at, 10, ret_value);
    }
    if (file) {
        (void)fclose(file);
    }
    return found;
}

/* ---- where the group is ---------------------------------------------------------- */

/* Is the word in a list like "rw,memory,cpu"? */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);

    while (list) {
        if (strncmp(list, word, n) == 0 && strchr(",\n", list[n])) {
            return true;
        }
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return false;
}

/* Our path in the hierarchy with the memory controller. -> its version; NULL: none. */
static const struct version *find_path(const char *root, char ret_path[PATH_MAX])
{
    FILE *file = open_file(root, "/proc/self", "cgroup");
    const struct version *found = NULL;
    char line[PATH_MAX];

    while (file && fgets(line, sizeof line, file)) { /* cgroups(7): number:controllers:path */
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (path) {
            *path++ = '\0';
            path[strcspn(path, "\n")] = '\0';
            if (lists(controllers + 1, "memory")) {
                found = &versions[0];
            } else if (controllers[1] == '\0' && !found) {
                found = &versions[1];
            } else {
                continue;
            }
            (void)snprintf(ret_path, PATH_MAX, "%s", path);
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return found;
}

struct mount {
    char point[PATH_MAX]; /* where */
    char group[PATH_MAX]; /* which group lies there */
};

/* Where that version's hierarchy is mounted (proc(5), mountinfo). */
static bool find_mount(const char *root, const struct version *version, struct mount *ret_mount)
{
    FILE *file = open_file(root, "/proc/self", "mountinfo");
    struct mount *mount = xmalloc(sizeof *mount);
    bool found = false;
    char *line = NULL;
    size_t room = 0;

    while (file && !found && getline(&line, &room, file) > 0) {
        char *dash = strstr(line, " - ");
        char filesystem[16] = "", options[512] = "";

        found = dash && sscanf(dash, " - %15s %*s %511s", filesystem, options) == 2 &&
                strcmp(filesystem, version->filesystem) == 0 &&
                (version == &versions[1] || lists(options, "memory")) &&
                sscanf(line, "%*s %*s %*s %4095s %4095s", mount->group, mount->point) == 2;
    }
    if (found) {
        *ret_mount = *mount;
    }
    free(line);
    free(mount);
    if (file) {
        (void)fclose(file);
    }
    return found;
}

/* ---- the whole -------------------------------------------------------------------- */

/* Our group's directory; `path` as /proc/self/cgroup has it. */
static void put_directory(const struct mount *mount, const char *path, char ret_directory[PATH_MAX])
{
    size_t n = strlen(mount->group);
    bool whole = strcmp(mount->group, "/") == 0;
    const char *below = whole ? path : strncmp(path, mount->group, n) == 0 ? path + n : "";

    if (strcmp(below, "/") == 0 || strncmp(below, "/..", 3) == 0) {
        below = "";
    }
    if (snprintf(ret_directory, PATH_MAX, "%s%s", mount->point, below) >= PATH_MAX) {
        (void)snprintf(ret_directory, PATH_MAX, "%s", mount->point);
    }
}

/* Looks from our group up to the mount point; the least limit counts. */
static void read_groups(const char *root, const struct version *version, const struct mount *mount,
                        char directory[PATH_MAX], struct memory_group *group)
{
    size_t top = strlen(mount->point);

    group->counts = read_counter(root, directory, version->events, "oom_kill", &group->kills);
    for (;;) {
        uint64_t limit;

        if (read_number(root, directory, version->limit, &limit) && limit < no_limit &&
            (group->limit == 0 || limit < group->limit)) {
            const char *name = directory[top] ? directory + top : "/";

            group->limit = limit;
            group->used = group->peak = 0;
            (void)read_number(root, directory, version->used, &group->used);
            (void)read_number(root, directory, version->peak, &group->peak);
            (void)snprintf(group->name, sizeof group->name, "%.*s", MEMORY_GROUP_NAME - 1, name);
        }
        if (strlen(directory) <= top) {
            break;
        }
        *strrchr(directory, '/') = '\0';
    }
}

void memory_group_read(const char *root, struct memory_group *ret_group)
{
    struct memory_group group = {.counts = false};
    struct mount *mount = xcalloc(1, sizeof *mount);
    char path[PATH_MAX], directory[PATH_MAX];
    const struct version *version = find_path(root, path);

    if (version && find_mount(root, version, mount)) {
        put_directory(mount, path, directory);
        read_groups(root, version, mount, directory, &group);
    }
    group.machine_counts = read_counter(root, "/proc", "vmstat", "oom_kill", &group.machine_kills);
    free(mount);
    *ret_group = group;
}

/* ---- words -------------------------------------------------------------------------- */

static bool group_killed(const struct memory_group *before, const struct memory_group *after)
{
    return before->counts && after->counts && after->kills > before->kills;
}

bool memory_group_killed(const struct memory_group *before, const struct memory_group *after)
{
    return group_killed(before, after) || (before->machine_counts && after->machine_counts &&
                                           after->machine_kills > before->machine_kills);
}

void memory_put_size(uint64_t bytes, struct buffer *ret_text)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    buffer_printf(ret_text, "%.1f %s", value, units[unit]);
}

static void put_limit(const struct memory_group *group, struct buffer *ret_text)
{
    buffer_printf(ret_text, "cgroup %s may use ", group->name);
    memory_put_size(group->limit, ret_text);
    buffer_put_text(ret_text, group->peak ? " and used at most " : " and uses now ");
    memory_put_size(group->peak ? group->peak : group->used, ret_text);
}

void memory_group_put_words(const struct memory_group *before, const struct memory_group *after,
                            struct buffer *ret_text)
{
    const char *separator = "";

    if (after->limit) {
        put_limit(after, ret_text);
        separator = "; ";
    }
    if (group_killed(before, after)) {
        buffer_printf(ret_text, "%sthe group's counter oom_kill went from %" PRIu64 " to %" PRIu64,
                      separator, before->kills, after->kills);
    } else if (memory_group_killed(before, after)) {
        buffer_printf(ret_text,
                      "%sthe machine's counter oom_kill went from %" PRIu64 " to %" PRIu64,
                      separator, before->machine_kills, after->machine_kills);
    }
}
