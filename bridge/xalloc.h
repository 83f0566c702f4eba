#ifndef BRIDGE_XALLOC_H
#define BRIDGE_XALLOC_H

/*
 * Memory that is never NULL. Sizes that come from a peer are checked against
 * limits before they get here, so running out means the machine has none left:
 * one line on stderr, then abort.
 */

#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t n);
void *xrealloc(void *p, size_t n);
void *xmemdup(const void *p, size_t n); /* n may be 0 */
char *xstrdup(const char *text);

#endif
