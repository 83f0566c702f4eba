/* Numbers behind options: what is taken, and what is not. */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>

#include "kernel/log.h"
#include "kernel/option_values.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

Test(option_values, counts)
{
    static const char *const wrong[] = {
        "", "-1", "+1", " 1", "1 ", "1k", "0x10", "1.0", "99999999999999999999"};
    size_t count = 7;
    cr_assert(eq(int, option_count("0", &count), 0));
    cr_expect(eq(sz, count, 0));
    cr_assert(eq(int, option_count("18446744073709551615", &count), 0));
    cr_expect(eq(sz, count, SIZE_MAX));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cr_expect(eq(int, option_count(wrong[i], &count), -EINVAL), "%s", wrong[i]);
    }
    cr_expect(eq(sz, count, SIZE_MAX), "untouched");
}

Test(option_values, seconds)
{
    static const struct {
        const char *text;
        int64_t ms;
    } right[] = {{"30", 30000},
                 {"0", 0},
                 {"0.5", 500},
                 {".25", 250},
                 {"2.", 2000},
                 {"0.0001", 1},
                 {"31622400", INT64_C(31622400000)}};
    static const char *const wrong[] = {"",    ".",   "-1",  "+1",  " 1",       "1s",
                                        "1e3", "inf", "nan", "0x1", "31622401", "1.2.3"};
    int64_t ms = 7;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cr_expect(eq(int, option_seconds(wrong[i], &ms), -EINVAL), "%s", wrong[i]);
    }
    cr_expect(eq(i64, ms, 7), "untouched");
    for (size_t i = 0; i < COUNT(right); i++) {
        cr_assert(eq(int, option_seconds(right[i].text, &ms), 0), "%s", right[i].text);
        cr_expect(eq(i64, ms, right[i].ms), "%s", right[i].text);
    }
}

Test(option_values, sizes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {{"0", 0},
                 {"1048576", 1 << 20},
                 {"512", 512},
                 {"512B", 512},
                 {"3k", 3 << 10},
                 {"512M", 512 << 20},
                 {"512MB", 512 << 20},
                 {"512mib", 512 << 20},
                 {"2G", UINT64_C(2) << 30},
                 {"16777215T", UINT64_C(16777215) << 40}};
    static const char *const wrong[] = {"",    "M",   "-1M",   "1.5G", "1 G",      "1X",
                                        "1iB", "1MM", "1GiBB", "1e9",  "16777216T"};
    uint64_t bytes = 7;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cr_expect(eq(int, option_size(wrong[i], &bytes), -EINVAL), "%s", wrong[i]);
    }
    cr_expect(eq(u64, bytes, 7), "untouched");
    for (size_t i = 0; i < COUNT(right); i++) {
        cr_assert(eq(int, option_size(right[i].text, &bytes), 0), "%s", right[i].text);
        cr_expect(eq(u64, bytes, right[i].bytes), "%s", right[i].text);
    }
}

Test(option_values, truths)
{
    static const char *const wrong[] = {"", "yes", "2", "True ", "-1", "none"};
    bool truth = false;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        cr_expect(eq(int, option_truth(wrong[i], &truth), -EINVAL), "%s", wrong[i]);
    }
    cr_expect(option_truth("True", &truth) == 0 && truth);
    cr_expect(option_truth("false", &truth) == 0 && !truth);
    cr_expect(option_truth("1", &truth) == 0 && truth);
    cr_expect(option_truth("0", &truth) == 0 && !truth);
}

Test(option_values, levels)
{
    int level = 7;
    cr_expect(eq(int, option_level("loud", &level), -EINVAL));
    cr_expect(eq(int, level, 7), "untouched");
    cr_assert(eq(int, option_level("Debug", &level), 0));
    cr_expect(eq(int, level, LEVEL_DEBUG));
}
