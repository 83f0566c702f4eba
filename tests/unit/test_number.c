/* Tests of kernel/number.h. */

#include <criterion/criterion.h>

#include "kernel/number.h"

Test(number, is_taken_off_or_left_alone)
{
    static const struct {
        const char *text;
        int base;
        bool taken;
        uint64_t value;
        const char *rest;
    } rows[] = {
        {"12 x", 10, true, 12, " x"},
        {"  0012\n", 10, true, 12, "\n"},
        {" ffz", 16, true, 255, "z"},
        {"18446744073709551615", 10, true, UINT64_MAX, ""},
        {"18446744073709551616", 10, false, 0, "18446744073709551616"},
        {"-1", 10, false, 0, "-1"},
        {"+1", 10, false, 0, "+1"},
        {"max\n", 10, false, 0, "max\n"},
        {"a", 10, false, 0, "a"},
        {"", 10, false, 0, ""},
        {"\n1", 10, false, 0, "\n1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = rows[i].text;
        uint64_t value = 0;

        cr_expect_eq(number_take(&at, rows[i].base, &value), rows[i].taken, "row %zu", i);
        cr_expect_eq(value, rows[i].value, "row %zu", i);
        cr_expect_str_eq(at, rows[i].rest, "row %zu", i);
    }
}
