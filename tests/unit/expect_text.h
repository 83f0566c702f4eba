#ifndef TESTS_EXPECT_TEXT_H
#define TESTS_EXPECT_TEXT_H

/*
 * Criterion's eq(str, …) takes no constant texts without warnings; this does,
 * and takes NULL for a text that differs from every other.
 */

#include <criterion/criterion.h>
#include <string.h>

#define EXPECT_TEXT(text, expected)                                                                \
    do {                                                                                           \
        const char *got_ = (text), *wanted_ = (expected);                                          \
        cr_expect(got_ != NULL && strcmp(got_, wanted_) == 0, "%s is \"%s\", not \"%s\"", #text,   \
                  got_ != NULL ? got_ : "(null)", wanted_);                                        \
    } while (0)

#endif
