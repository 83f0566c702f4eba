/* Tests of kernel/trim.c. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/trim.h"

/* Bytes of code that are mapped now. */
static size_t code_in_memory(void)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    char line[4096];
    size_t bytes = 0;
    bool is_code = false;

    while (fgets(line, sizeof line, smaps)) {
        if (strchr(line, '-') && strstr(line, " r-xp ")) {
            is_code = strchr(line, '/') != NULL;
        } else if (strncmp(line, "Rss:", 4) == 0 && is_code) {
            bytes += strtoul(line + 4, NULL, 10) * 1024;
            is_code = false;
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            is_code = false;
        }
    }
    (void)fclose(smaps);
    return bytes;
}

Test(trim, gives_code_back_and_all_goes_on)
{
    size_t before = code_in_memory();

    cr_assert_gt(trim_code(), 0);
    cr_assert_lt(code_in_memory(), before);
    cr_assert_eq(strtol("42", NULL, 10), 42);
    cr_assert_gt(trim_code(), 0, "again does no harm");
}
