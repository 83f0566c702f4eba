/*
 * Paths as letters: see read_path.h. A path is a drive (empty but on Windows) and
 * names; its normal form is "/name/name", so one lies below another if it begins
 * with it and a slash. Any thread; owns nothing.
 */

#include "bridge/read_path.h"

static bool is_slash(enum path_rules rules, uint8_t c)
{
    return c == '/' || (rules == PATH_WINDOWS && c == '\\');
}

/* "C:", or "\\server\share"; empty without one. */
static struct slice drive_of(enum path_rules rules, struct slice path)
{
    struct slice drive = {path.p, 0};
    if (rules != PATH_WINDOWS || path.n < 2) {
        return drive;
    }
    if (path.p[1] == ':') {
        drive.n = 2;
    } else if (is_slash(rules, path.p[0]) && is_slash(rules, path.p[1])) {
        size_t names = 0;
        for (drive.n = 2; drive.n < path.n && names < 2; drive.n++) {
            names += is_slash(rules, path.p[drive.n]);
        }
        drive.n -= names == 2;
    }
    return drive;
}

static struct slice without_front(struct slice text, size_t n)
{
    return (struct slice){text.p + n, text.n - n};
}

static uint8_t folded(enum path_rules rules, uint8_t c)
{
    if (rules != PATH_WINDOWS) {
        return c;
    }
    return c == '\\' ? '/' : c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool is_same(enum path_rules rules, struct slice a, struct slice b)
{
    bool same = a.n == b.n;
    for (size_t i = 0; i < a.n && same; i++) {
        same = folded(rules, a.p[i]) == folded(rules, b.p[i]);
    }
    return same;
}

static void drop_name(struct buffer *normal)
{
    while (normal->n > 0 && normal->p[--normal->n] != '/') {
    }
}

static void put_name(struct buffer *normal, struct slice name)
{
    if (slice_is(name, "..")) {
        drop_name(normal);
    } else if (name.n > 0 && !slice_is(name, ".")) {
        buffer_put_char(normal, '/');
        buffer_put_slice(normal, name);
    }
}

static void put_names(enum path_rules rules, struct slice path, struct buffer *normal)
{
    size_t start = 0;
    for (size_t i = 0; i <= path.n; i++) {
        if (i == path.n || is_slash(rules, path.p[i])) {
            put_name(normal, (struct slice){path.p + start, i - start});
            start = i + 1;
        }
    }
}

/* The normal form of a path that may begin at `cwd`. -> false: it begins nobody knows where. */
static bool put_absolute(enum path_rules rules, struct slice path, struct slice cwd,
                         struct buffer *normal, struct slice *ret_drive)
{
    struct slice drive = drive_of(rules, path);
    struct slice cwd_drive = drive_of(rules, cwd);
    struct slice names = without_front(path, drive.n);
    bool rooted = (names.n > 0 && is_slash(rules, names.p[0])) || drive.n > 2;
    if (!rooted) {
        if (drive.n > 0 && !is_same(rules, drive, cwd_drive)) {
            return false; /* "D:name": each drive has a current directory of its own */
        }
        put_names(rules, without_front(cwd, cwd_drive.n), normal);
    }
    put_names(rules, names, normal);
    *ret_drive = drive.n > 0 ? drive : cwd_drive;
    return true;
}

/* What stands in `normal` behind `root` and a slash; empty: nothing. */
static struct slice below(enum path_rules rules, const struct buffer *normal,
                          const struct buffer *root)
{
    struct slice begin = {normal->p, root->n};
    bool inside = normal->n > root->n + 1 && normal->p[root->n] == '/' &&
                  is_same(rules, begin, buffer_slice(root));
    return inside ? without_front(buffer_slice(normal), root->n + 1) : (struct slice){NULL, 0};
}

bool read_path_relative(enum path_rules rules, struct slice path, struct slice root,
                        struct slice cwd, struct buffer *relative)
{
    struct buffer normal = BUFFER_INIT;
    struct buffer normal_root = BUFFER_INIT;
    struct slice drive;
    struct slice found = {NULL, 0};
    struct slice root_drive = drive_of(rules, root);
    if (path.n == 0 || memchr(path.p, '\0', path.n) != NULL) {
        return false;
    }
    put_names(rules, without_front(root, root_drive.n), &normal_root);
    if (put_absolute(rules, path, cwd, &normal, &drive) && is_same(rules, drive, root_drive)) {
        found = below(rules, &normal, &normal_root);
    }
    buffer_put_slice(relative, found);
    buffer_release(&normal);
    buffer_release(&normal_root);
    return found.n > 0;
}
