/*
 * How statements begin: see statement.h. A keyword of the statements', or a name
 * before a single `=` or an operator with one. Everything that is not plainly one
 * of these is left to the compiler. No state.
 */

#include "bridge/statement.h"

#include <string.h>

/* `lambda`, `not`, `await`, `yield`, None, True and False begin expressions. */
static const char *const keywords[] = {
    "assert", "async",  "break",    "class", "continue", "def",    "del", "for",   "from", "global",
    "if",     "import", "nonlocal", "pass",  "raise",    "return", "try", "while", "with",
};

/* Before a `=`. Not `<`, `>`, `!` and `=`: those compare. */
static const char operators[] = "+-*/%&|^@";

static uint8_t at(struct slice code, size_t i)
{
    return i < code.n ? code.p[i] : '\0';
}

static bool is_of_name(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

static size_t skip_blanks(struct slice code, size_t i)
{
    while (at(code, i) == ' ' || at(code, i) == '\t') {
        i++;
    }
    return i;
}

/* Where the first line begins that is not empty and no comment. */
static size_t skip_comments(struct slice code)
{
    size_t line = 0;
    for (;;) {
        size_t i = skip_blanks(code, line);
        if (at(code, i) == '#') {
            const uint8_t *end = memchr(code.p + i, '\n', code.n - i);
            i = end != NULL ? (size_t)(end - code.p) : code.n;
        }
        if (at(code, i) != '\n') {
            return line;
        }
        line = i + 1;
    }
}

static bool is_keyword(struct slice name)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (name.n == strlen(keywords[i]) && memcmp(name.p, keywords[i], name.n) == 0) {
            return true;
        }
    }
    return false;
}

bool statement_begins(struct slice code)
{
    size_t start = skip_comments(code);
    size_t i = start;
    while (is_of_name(at(code, i))) {
        i++;
    }
    if (i == start) {
        return false;
    }
    if (is_keyword((struct slice){code.p + start, i - start})) {
        return true;
    }
    i = skip_blanks(code, i);
    uint8_t c = at(code, i);
    if (c != '\0' && strchr(operators, c) != NULL) {
        return at(code, i + 1) == '=';
    }
    return c == '=' && at(code, i + 1) != '=';
}
