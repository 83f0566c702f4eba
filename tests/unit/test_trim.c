/* Tests of kernel/trim.c. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/trim.h"

/* Bytes in memory of files that are mapped so: " r-xp " code, " r--p " constants. */
static size_t in_memory(const char *how)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    char line[4096];
    size_t bytes = 0;
    bool counts = false;

    while (fgets(line, sizeof line, smaps)) {
        if (strchr(line, '-') && strstr(line, how)) {
            counts = strchr(line, '/') != NULL;
        } else if (strncmp(line, "Rss:", 4) == 0 && counts) {
            bytes += strtoul(line + 4, NULL, 10) * 1024;
            counts = false;
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            counts = false;
        }
    }
    (void)fclose(smaps);
    return bytes;
}

Test(trim, gives_code_and_constants_back_and_all_goes_on)
{
    size_t code = in_memory(" r-xp "), constants = in_memory(" r--p ");

    cr_assert_gt(trim_files(), 0);
    cr_assert_lt(in_memory(" r-xp "), code);
    cr_assert_lt(in_memory(" r--p "), constants);
    cr_assert_eq(strtol("42", NULL, 10), 42);
    cr_assert_gt(trim_files(), 0, "again does no harm");
}
