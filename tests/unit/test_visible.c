/* bridge/visible.c: what counts, where it is cut, and that pieces count as the whole. */

#include "bridge/visible.h"

#include <criterion/criterion.h>

#include "bridge/utf8.h"

static const struct {
    const char *text;
    size_t characters;
} rows[] = {
    {"", 0},
    {"abc", 3},
    {"äöü\n", 4},
    {"abc\rde", 2},       /* the line counts anew */
    {"abc\n123\rde", 6},  /* not the lines before it */
    {"abc\r", 3},         /* it may be a line end */
    {"abc\r\n", 4},       /* it is one */
    {"abc\r\nde\r\n", 7}, /* and so is this */
    {"abc\r\r\n", 4},     /* two returns and a line end are one too */
    {"abc\r\rd", 1},
    {"\r\r\r\r", 0},
    {"a\rb\rc\rd\n\re", 3},
};

static struct slice slice_from(const char *text, size_t at)
{
    return slice_of(text + at);
}

Test(visible, counts_what_no_return_goes_back_over_however_the_text_is_cut)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = rows[i].text;

        for (size_t cut = 0; cut <= strlen(text); cut++) {
            struct visible visible = {0, 0, false};
            size_t taken;

            if (utf8_valid((struct slice){(const uint8_t *)text, cut}) < cut) {
                continue; /* inside a character */
            }
            taken = visible_take(&visible, (struct slice){(const uint8_t *)text, cut}, SIZE_MAX);
            taken += visible_take(&visible, slice_from(text, cut), SIZE_MAX);
            cr_expect_eq(taken, strlen(text));
            cr_expect_eq(visible.characters, rows[i].characters, "%s cut at %zu: %zu", text, cut,
                         visible.characters);
        }
    }
}

Test(visible, takes_what_fits_to_the_character)
{
    static const struct {
        const char *text;
        size_t bound;
        const char *rest;
    } cuts[] = {
        {"äöüß", 4, ""},
        {"äöüß5", 4, "5"},
        {"abcd\r", 4, ""},
        {"abcd\rxyz", 4, ""},
        {"abcd\rabcd\rabcd", 4, ""},
        {"abcd\r\n", 4, "\n"},
        {"ab\ncde\rf", 4, "de\rf"},
        {"ab\nc\rd\re\rfg", 4, "g"},
    };

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct visible visible = {0, 0, false};
        size_t taken = visible_take(&visible, slice_of(cuts[i].text), cuts[i].bound);

        cr_expect_str_eq(cuts[i].text + taken, cuts[i].rest);
        cr_expect_leq(visible.characters, cuts[i].bound);
    }
}
