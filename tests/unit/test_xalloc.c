/* The reserve of bridge/xalloc.c. What it is good for, tests/e2e/test_16_memory_limit.py shows. */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "bridge/xalloc.h"

/* The addresses that this process has, in kB. */
static long mapped(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long size = 0;

    cr_assert(file != NULL);
    while (size == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmSize: %ld", &size);
    }
    (void)fclose(file);
    return size;
}

Test(xalloc, the_reserve_is_taken_once_and_used_once)
{
    cr_expect(not(xalloc_use_reserve()), "none yet");
    long before = mapped();
    xalloc_reserve();
    long with_reserve = mapped();
    cr_expect(ge(long, with_reserve - before, 8 << 10));
    xalloc_reserve();
    cr_expect(eq(long, mapped(), with_reserve), "one is enough");
    cr_expect(xalloc_use_reserve());
    cr_expect(le(long, mapped(), with_reserve - (8 << 10)), "it is given back");
    cr_expect(not(xalloc_use_reserve()));
    xalloc_reserve();
    cr_expect(xalloc_use_reserve(), "and can be had again");
}
