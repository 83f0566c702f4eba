/* bridge/read_path.c: paths by the rules of both systems, and those that say nothing. */

#include "bridge/read_path.h"

#include <criterion/criterion.h>

static const struct {
    enum path_rules rules;
    const char *path, *root, *cwd, *relative; /* NULL: not below root */
} paths[] = {
    {PATH_POSIX, "a", "/w", "/w", "a"},
    {PATH_POSIX, "/w/a", "/w", "/elsewhere", "a"},
    {PATH_POSIX, "a/../b//c/.", "/w", "/w", "b/c"},
    {PATH_POSIX, "../a", "/w", "/w/sub", "a"},
    {PATH_POSIX, "../../w/a", "/w", "/w/sub", "a"},
    {PATH_POSIX, "/../../w/a", "/w", "/", "a"},
    {PATH_POSIX, "//w/a", "/w", "/", "a"},
    {PATH_POSIX, "a", "/w/", "/w//./", "a"},
    {PATH_POSIX, "a", "/", "/", "a"},
    {PATH_POSIX, "/a/b", "/", "/x", "a/b"},
    {PATH_POSIX, "a\\b", "/w", "/w", "a\\b"},
    {PATH_POSIX, "C:", "/w", "/w", "C:"},
    {PATH_POSIX, "..a", "/w", "/w", "..a"},
    {PATH_POSIX, "...", "/w", "/w", "..."},
    {PATH_POSIX, "", "/w", "/w", NULL},
    {PATH_POSIX, ".", "/w", "/w", NULL},
    {PATH_POSIX, "/w", "/w", "/w", NULL},
    {PATH_POSIX, "/w/", "/w", "/w", NULL},
    {PATH_POSIX, "..", "/w", "/w", NULL},
    {PATH_POSIX, "../w2/a", "/w", "/w", NULL},
    {PATH_POSIX, "/w2", "/w", "/w", NULL},
    {PATH_POSIX, "/W/a", "/w", "/w", NULL},
    {PATH_POSIX, "/", "/", "/", NULL},
    {PATH_POSIX, "sub/../../x", "/w", "/w", NULL},
    {PATH_WINDOWS, "..\\Data\\input.csv", "C:\\Workspace", "C:\\Workspace\\analysis",
     "Data/input.csv"},
    {PATH_WINDOWS, "c:\\workspace\\Data\\input.csv", "C:\\Workspace", "C:\\Workspace\\analysis",
     "Data/input.csv"},
    {PATH_WINDOWS, "link\\input.csv", "C:\\Workspace", "C:\\Workspace\\analysis",
     "analysis/link/input.csv"},
    {PATH_WINDOWS, "C:\\Other\\secret.csv", "C:\\Workspace", "C:\\Workspace", NULL},
    {PATH_WINDOWS, "D:\\Workspace\\input.csv", "C:\\Workspace", "C:\\Workspace", NULL},
    {PATH_WINDOWS, "C:\\Workspace", "C:\\Workspace", "C:\\Workspace", NULL},
    {PATH_WINDOWS, "C:/Workspace/a/b", "C:\\Workspace", "C:\\", "a/b"},
    {PATH_WINDOWS, "\\Workspace\\a", "C:\\Workspace", "C:\\x", "a"},
    {PATH_WINDOWS, "\\Workspace\\a", "C:\\Workspace", "D:\\x", NULL},
    {PATH_WINDOWS, "C:a", "C:\\Workspace", "C:\\Workspace", "a"},
    {PATH_WINDOWS, "D:a", "C:\\Workspace", "C:\\Workspace", NULL},
    {PATH_WINDOWS, "\\\\host\\share\\w\\a", "\\\\HOST\\share\\w", "C:\\", "a"},
    {PATH_WINDOWS, "\\\\host\\other\\w\\a", "\\\\host\\share\\w", "C:\\", NULL},
    {PATH_WINDOWS, "\\\\?\\C:\\Workspace\\a", "C:\\Workspace", "C:\\", NULL},
    {PATH_WINDOWS, "\\\\host", "C:\\Workspace", "C:\\Workspace", NULL},
    {PATH_WINDOWS, "C:\\Workspace\\..\\..\\Workspace\\a", "C:\\Workspace", "C:\\", "a"},
    {PATH_WINDOWS, "C:\\Workspace2\\a", "C:\\Workspace", "C:\\", NULL},
};

Test(read_path, is_told_from_the_root_or_not_at_all)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct buffer relative = BUFFER_INIT;
        bool below = read_path_relative(paths[i].rules, slice_of(paths[i].path),
                                        slice_of(paths[i].root), slice_of(paths[i].cwd), &relative);
        const char *wanted = paths[i].relative != NULL ? paths[i].relative : "";
        cr_expect(below == (paths[i].relative != NULL), "%s", paths[i].path);
        cr_expect(slice_is(buffer_slice(&relative), wanted), "%s: %.*s", paths[i].path,
                  (int)relative.n, (const char *)relative.p);
        buffer_release(&relative);
    }
}

Test(read_path, with_a_nul_is_none)
{
    struct buffer relative = BUFFER_INIT;
    struct slice path = {(const uint8_t *)"a\0b", 3};
    cr_expect(!read_path_relative(PATH_POSIX, path, slice_of("/w"), slice_of("/w"), &relative));
    buffer_release(&relative);
}

Test(read_path, is_appended)
{
    struct buffer text = BUFFER_INIT;
    buffer_put_text(&text, "before ");
    cr_assert(read_path_relative(PATH_POSIX, slice_of("a"), slice_of("/w"), slice_of("/w"), &text));
    cr_expect(slice_is(buffer_slice(&text), "before a"));
    buffer_release(&text);
}
