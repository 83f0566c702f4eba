#ifndef KERNEL_PATH_SEARCH_H
#define KERNEL_PATH_SEARCH_H

/* Programs on PATH. Both doors' hosts use it: nothing here needs ZeroMQ. */

#include <stddef.h>

/* "directory/name", of the first n bytes of `directory`. -> the caller's to free. */
char *path_joined(const char *directory, size_t n, const char *name);

/*
 * The first executable of that name in the directories of `path` (NULL: none), a text
 * like PATH; where there is none the name itself, so that whoever runs it says so. -> the
 * caller's to free.
 */
char *path_search(const char *path, const char *name);

#endif
