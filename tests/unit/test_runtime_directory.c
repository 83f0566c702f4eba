/* kernel/runtime_directory.c: its bounds. Which variable wins, test_connection.c has. */

#include "kernel/runtime_directory.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/expect_text.h"

Test(runtime_directory, one_that_does_not_fit_is_an_error)
{
    char path[16];
    setenv("JUPYTER_RUNTIME_DIR", "/123456789012345", 1);
    cr_expect(eq(int, runtime_directory(path, sizeof path), -ENAMETOOLONG));
    setenv("JUPYTER_RUNTIME_DIR", "/12345678901234", 1);
    cr_assert(eq(int, runtime_directory(path, sizeof path), 0));
    EXPECT_TEXT(path, "/12345678901234");
}
