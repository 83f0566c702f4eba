/* Tests of kernel/memory_group.c, on trees of files that look like /proc and cgroups. */

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/memory_group.h"
#include "remove_tree.h"

struct tree {
    char root[PATH_MAX];
};

static void tree_init(struct tree *self)
{
    (void)snprintf(self->root, sizeof self->root, "/tmp/ek-group-XXXXXX");
    cr_assert(mkdtemp(self->root));
}

static void tree_release(struct tree *self)
{
    remove_tree(self->root);
}

static void tree_put(const struct tree *self, const char *path, const char *text)
{
    char full[PATH_MAX + 256];
    FILE *file;

    (void)snprintf(full, sizeof full, "%s%s", self->root, path);
    for (char *at = strchr(full + strlen(self->root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(full, 0755);
        *at = '/';
    }
    file = fopen(full, "w");
    cr_assert(file, "%s", full);
    (void)fputs(text, file);
    (void)fclose(file);
}

#define V1_MOUNTS                                                                                  \
    "22 1 0:21 / /proc rw - proc proc rw\n"                                                        \
    "31 22 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"                                   \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"                                  \
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"                   \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V2_MOUNTS "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"

Test(memory_group, version_1_least_limit_upwards_and_the_own_counter)
{
    struct tree tree;
    struct memory_group group;

    tree_init(&tree);
    tree_put(&tree, "/proc/self/cgroup", "12:cpu:/\n4:memory:/pod/box\n0::/elsewhere\n");
    tree_put(&tree, "/proc/self/mountinfo", V1_MOUNTS);
    tree_put(&tree, "/proc/vmstat", "nr_free_pages 5\noom_kill 41\noom_kill_other 9\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "1073741824\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/pod/memory.usage_in_bytes", "400\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/pod/memory.max_usage_in_bytes", "1073700000\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/pod/box/memory.limit_in_bytes", "2147483648\n");
    tree_put(&tree, "/sys/fs/cgroup/memory/pod/box/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    memory_group_read(tree.root, &group);
    cr_assert(group.counts);
    cr_assert_eq(group.kills, 5);
    cr_assert(group.machine_counts);
    cr_assert_eq(group.machine_kills, 41);
    cr_assert_str_eq(group.name, "/pod");
    cr_assert_eq(group.limit, 1 << 30);
    cr_assert_eq(group.used, 400);
    cr_assert_eq(group.peak, 1073700000);
    tree_release(&tree);
}

Test(memory_group, version_2_with_and_without_memory_peak)
{
    struct tree tree;
    struct memory_group group;

    tree_init(&tree);
    tree_put(&tree, "/proc/self/cgroup", "0::/user.slice/job.scope\n");
    tree_put(&tree, "/proc/self/mountinfo", V2_MOUNTS);
    tree_put(&tree, "/sys/fs/cgroup/user.slice/memory.max", "max\n");
    tree_put(&tree, "/sys/fs/cgroup/user.slice/job.scope/memory.max", "536870912\n");
    tree_put(&tree, "/sys/fs/cgroup/user.slice/job.scope/memory.current", "1048576\n");
    tree_put(&tree, "/sys/fs/cgroup/user.slice/job.scope/memory.events",
             "low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n");
    memory_group_read(tree.root, &group);
    cr_assert(group.counts);
    cr_assert_eq(group.kills, 2);
    cr_assert_not(group.machine_counts, "there is no vmstat");
    cr_assert_str_eq(group.name, "/user.slice/job.scope");
    cr_assert_eq(group.limit, 512 << 20);
    cr_assert_eq(group.used, 1 << 20);
    cr_assert_eq(group.peak, 0);
    tree_put(&tree, "/sys/fs/cgroup/user.slice/job.scope/memory.peak", "536000000\n");
    memory_group_read(tree.root, &group);
    cr_assert_eq(group.peak, 536000000);
    tree_release(&tree);
}

/* What containers see: their own group at the mount point, by a namespace or by a bind mount. */
Test(memory_group, the_mount_point_may_be_our_group_itself)
{
    static const struct {
        const char *cgroup, *mounts, *limit, *events;
    } rows[] = {
        {"0::/\n", V2_MOUNTS, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.events"},
        {"4:memory:/docker/abc\n",
         "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
         "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.oom_control"},
        {"4:cpu,memory:/docker/abc/in\n",
         "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,cpu,memory\n",
         "/sys/fs/cgroup/memory/in/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/in/memory.oom_control"},
        {"0::/../other\n", V2_MOUNTS, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.events"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct memory_group group;
        struct tree tree;

        tree_init(&tree);
        tree_put(&tree, "/proc/self/cgroup", rows[i].cgroup);
        tree_put(&tree, "/proc/self/mountinfo", rows[i].mounts);
        tree_put(&tree, rows[i].limit, "1000000\n");
        tree_put(&tree, rows[i].events, "oom_kill 1\n");
        memory_group_read(tree.root, &group);
        cr_expect(group.counts && group.kills == 1, "row %zu", i);
        cr_expect_eq(group.limit, 1000000, "row %zu", i);
        tree_release(&tree);
    }
}

Test(memory_group, what_is_not_there_is_not_known)
{
    struct memory_group group;
    struct tree tree;

    tree_init(&tree);
    memory_group_read(tree.root, &group);
    cr_assert_not(group.counts || group.machine_counts || group.limit);
    tree_put(&tree, "/proc/self/cgroup", "nonsense\n\n4:memory\n");
    tree_put(&tree, "/proc/self/mountinfo", "short - cgroup\n - \n");
    memory_group_read(tree.root, &group);
    cr_assert_not(group.counts || group.limit);
    tree_put(&tree, "/proc/self/cgroup", "4:memory:/box\n");
    tree_put(&tree, "/proc/self/mountinfo", V1_MOUNTS);
    memory_group_read(tree.root, &group);
    cr_assert_not(group.counts || group.limit, "the group's files are not there");
    tree_release(&tree);
}

Test(memory_group, of_this_machine_it_is_read_from_the_real_files)
{
    struct memory_group group;
    struct stat facts;

    memory_group_read("", &group);
    cr_assert_eq(group.machine_counts, stat("/proc/vmstat", &facts) == 0);
}

Test(memory_group, a_counter_that_rose_says_that_the_oom_killer_was_there)
{
    static const struct {
        struct memory_group before, after;
        bool killed;
        const char *words;
    } rows[] = {
        {{.counts = true, .kills = 1}, {.counts = true, .kills = 1}, false, ""},
        {{.counts = true, .kills = 1},
         {.counts = true, .kills = 3, .name = "/x", .limit = 2048, .used = 1024},
         true,
         "cgroup /x may use 2.0 KiB and uses now 1.0 KiB; the group's counter oom_kill went from 1 "
         "to 3"},
        {{.machine_counts = true, .machine_kills = 7},
         {.machine_counts = true, .machine_kills = 8},
         true,
         "the machine's counter oom_kill went from 7 to 8"},
        {{.counts = false}, {.counts = true, .kills = 3}, false, ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buffer text = BUFFER_INIT;

        cr_expect_eq(memory_group_killed(&rows[i].before, &rows[i].after), rows[i].killed);
        memory_group_put_words(&rows[i].before, &rows[i].after, &text);
        buffer_put_char(&text, '\0');
        cr_expect_str_eq((const char *)text.p, rows[i].words);
        buffer_release(&text);
    }
}
