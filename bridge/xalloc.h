#ifndef BRIDGE_XALLOC_H
#define BRIDGE_XALLOC_H

/*
 * Memory that is never NULL. Sizes that come from a peer are checked against
 * limits before they get here, so running out means that the machine, or
 * --memory-limit, has none left: one line on stderr, then abort.
 */

#include <stdbool.h>
#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t n);
void *xrealloc(void *p, size_t n);
void *xmemdup(const void *p, size_t n); /* n may be 0 */
char *xstrdup(const char *text);

/*
 * Keeps some megabytes of addresses aside, unless that is done already or there
 * are none. They are given back when an allocation fails, which is then tried
 * again, and by xalloc_use_reserve (-> whether there was a reserve), for those
 * who do not allocate here: Python, that has to tell of a MemoryError. One thread
 * reserves; any may use.
 */
void xalloc_reserve(void);
bool xalloc_use_reserve(void);

#endif
