/* Payloads of parts, and the fds as text. */

#include "test_link_door.h"

#include <errno.h>

TestSuite(link_parts, .timeout = 20);

static const struct {
    const char *what;
    uint64_t word[4]; /* the first is count | padding << 32 */
    size_t n;
    int result;
} payloads[] = {
    {"nothing", {0}, 0, LINK_ECORRUPT},
    {"half a start", {0}, 7, LINK_ECORRUPT},
    {"no parts", {0}, 8, 0},
    {"bytes after no parts", {0}, 9, LINK_ECORRUPT},
    {"padding that is not there", {(uint64_t)1 << 32}, 8, LINK_ECORRUPT},
    {"padding only", {(uint64_t)8 << 32}, 16, 0},
    {"padding before a part", {1 | (uint64_t)8 << 32, 8}, 32, 0},
    {"more padding than any", {(uint64_t)(LINK_PADDING_MAX + 1) << 32}, 32, LINK_ECORRUPT},
    {"one empty part", {1, 0}, 16, 0},
    {"a table cut short", {2, 0}, 16, LINK_ECORRUPT},
    {"a table far too long", {UINT32_MAX, 0}, 32, LINK_ECORRUPT},
    {"one more than the limit", {LINK_PARTS_MAX + 1, 0}, 32, LINK_ECORRUPT},
    {"two parts", {2, 3, 5}, 32, 0},
    {"a byte too few", {2, 3, 6}, 32, LINK_ECORRUPT},
    {"a byte too many", {2, 3, 4}, 32, LINK_ECORRUPT},
    {"lengths that wrap", {2, UINT64_MAX, 9}, 32, LINK_ECORRUPT},
};

Test(link_parts, lengths_are_believed_only_if_they_add_up)
{
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        /* On the heap and off by one: ASan sees the end, UBSan the alignment. */
        uint8_t *p = malloc(payloads[i].n + 1);
        memcpy(p + 1, payloads[i].word, payloads[i].n);
        struct link_parts parts = {.count = 99};
        int r = link_parts_read((struct slice){p + 1, payloads[i].n}, &parts);
        cr_assert(eq(int, r, payloads[i].result), "%s", payloads[i].what);
        cr_assert(r == 0 || parts.count == 99, "%s: touched", payloads[i].what);
        free(p);
    }
}

Test(link_parts, fds_survive_the_way_through_a_command_line)
{
    const struct link_fds fds = {3, 2147483647, 0, {10, 11}, 12};
    struct link_fds back;
    char text[LINK_FDS_TEXT];
    link_fds_format(&fds, text);
    cr_assert(slice_is(slice_of(text), "3,2147483647,0,10,11,12"));
    cr_assert(eq(int, link_fds_parse(text, &back), 0));
    cr_assert(eq(int, memcmp(&fds, &back, sizeof fds), 0));
}

static const char *const bad_texts[] = {"",
                                        "1",
                                        "1,2,3,4,5",
                                        "1,2,3,4,5,",
                                        "1,2,3,4,5,6,",
                                        "1,2,3,4,5,6,7",
                                        "1,,3,4,5,6",
                                        "-1,2,3,4,5,6",
                                        " 1,2,3,4,5,6",
                                        "1,2,3,4,5,6 ",
                                        "a,2,3,4,5,6",
                                        "1;2;3;4;5;6",
                                        "+1,2,3,4,5,6",
                                        "2147483648,2,3,4,5,6",
                                        "99999999999999999999,2,3,4,5,6",
                                        "1,2,3,4,5,0x6"};

Test(link_parts, texts_that_name_no_fds_are_refused)
{
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        struct link_fds fds = {-7, -7, -7, {-7, -7}, -7};
        cr_assert(eq(int, link_fds_parse(bad_texts[i], &fds), -EINVAL), "%s", bad_texts[i]);
        cr_assert(eq(int, fds.memory, -7));
    }
}
