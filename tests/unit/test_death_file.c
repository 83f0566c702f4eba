/* Tests of kernel/death_file.c. */

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel/death_file.h"
#include "remove_tree.h"

static size_t count_files(const char *directory)
{
    DIR *open_directory = opendir(directory);
    const struct dirent *entry;
    size_t n = 0;

    while ((entry = readdir(open_directory))) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(open_directory);
    return n;
}

static void make(const char *directory, const char *name)
{
    char path[PATH_MAX];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "w");
    cr_assert(file);
    (void)fclose(file);
}

static bool is_there(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &facts) == 0;
}

Test(death_file, a_report_is_kept_for_the_user_alone)
{
    char directory[] = "/tmp/ek-death-XXXXXX", path[PATH_MAX], text[64] = "";
    struct stat facts;
    FILE *file;

    cr_assert(mkdtemp(directory));
    cr_assert_eq(death_file_write(directory, 4711, slice_of("it died\n"), path, sizeof path), 0);
    cr_assert(stat(path, &facts) == 0);
    cr_assert_eq(facts.st_mode & 0777, 0600);
    cr_assert(strstr(path, "/death-20") && strstr(path, "-4711.txt"), "%s", path);
    file = fopen(path, "r");
    cr_assert(fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    cr_assert_str_eq(text, "it died\n");
    (void)remove(path);
    (void)remove(directory);
}

Test(death_file, the_oldest_go_and_what_is_not_a_report_stays)
{
    char directory[] = "/tmp/ek-death-XXXXXX", path[PATH_MAX];

    cr_assert(mkdtemp(directory));
    make(directory, "running-abc");
    for (int i = 0; i < DEATH_FILES_KEPT + 5; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "death-20200101T0000%02dZ-1.txt", i);
        make(directory, name);
    }
    cr_assert_eq(death_file_write(directory, 1, slice_of("x"), path, sizeof path), 0);
    cr_assert_eq(count_files(directory), DEATH_FILES_KEPT + 1);
    cr_assert(is_there(directory, "running-abc"));
    cr_assert_not(is_there(directory, "death-20200101T000005Z-1.txt"));
    cr_assert(is_there(directory, "death-20200101T000006Z-1.txt"));
    cr_assert(is_there("", path));
    remove_tree(directory);
}

Test(death_file, a_directory_that_cannot_be_written_is_an_error)
{
    char path[PATH_MAX];

    cr_assert_eq(death_file_write("/no/such/place", 1, slice_of("x"), path, sizeof path), -ENOENT);
    cr_assert_eq(death_file_write("/tmp", 1, slice_of("x"), path, 10), -ENAMETOOLONG);
}
