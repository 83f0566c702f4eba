/*
 * Allocation that does not fail.
 *
 * Both processes use it. A program that is out of memory cannot do better than
 * say so and end: the kernel's clients see the process go, the worker's death
 * is reported by the kernel. The line is written without stdio, which may want
 * memory itself.
 *
 * A cell that meets --memory-limit leaves no room to speak of: the worker
 * therefore keeps a reserve, mapped but never touched, so that it costs
 * addresses and no memory. Owns the reserve.
 */

#include "bridge/xalloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RESERVE = 8 << 20 };

static void *_Atomic reserve;

/* Only where twice of it is left: the last room is the user's, who must be able to say `del x`. */
void xalloc_reserve(void)
{
    if (atomic_load_explicit(&reserve, memory_order_relaxed) == NULL) {
        uint8_t *room = mmap(NULL, (size_t)RESERVE * 2, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room != MAP_FAILED) {
            (void)munmap(room + RESERVE, RESERVE);
            atomic_store(&reserve, room);
        }
    }
}

bool xalloc_use_reserve(void)
{
    void *room = atomic_exchange(&reserve, NULL);
    return room != NULL && munmap(room, RESERVE) == 0;
}

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
    void *p;
    do {
        p = malloc(n > 0 ? n : 1);
    } while (p == NULL && xalloc_use_reserve());
    return checked(p);
}

void *xcalloc(size_t count, size_t n)
{
    bool any = count > 0 && n > 0;
    void *p;
    do {
        p = any ? calloc(count, n) : calloc(1, 1);
    } while (p == NULL && xalloc_use_reserve());
    return checked(p);
}

void *xrealloc(void *p, size_t n)
{
    void *moved;
    do {
        moved = realloc(p, n > 0 ? n : 1);
    } while (moved == NULL && xalloc_use_reserve());
    return checked(moved);
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
