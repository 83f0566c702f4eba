/*
 * Allocation that does not fail.
 *
 * Both processes use it. A program that is out of memory cannot do better than
 * say so and end: the kernel's clients see the process go, the worker's death
 * is reported by the kernel. The line is written without stdio, which may want
 * memory itself. Owns nothing.
 */

#include "bridge/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p)
{
    static const char line[] = "einkorn: out of memory\n";
    if (p == NULL) {
        ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
        (void)ignored;
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return checked(malloc(n > 0 ? n : 1));
}

void *xcalloc(size_t count, size_t n)
{
    return checked(count > 0 && n > 0 ? calloc(count, n) : calloc(1, 1));
}

void *xrealloc(void *p, size_t n)
{
    return checked(realloc(p, n > 0 ? n : 1));
}

void *xmemdup(const void *p, size_t n)
{
    void *copy = xmalloc(n);
    if (n > 0) {
        memcpy(copy, p, n);
    }
    return copy;
}

char *xstrdup(const char *text)
{
    return xmemdup(text, strlen(text) + 1);
}
