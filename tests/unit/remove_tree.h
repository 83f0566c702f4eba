#ifndef TESTS_UNIT_REMOVE_TREE_H
#define TESTS_UNIT_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *facts, int type,
                             struct FTW *where)
{
    (void)facts;
    (void)type;
    (void)where;
    return remove(path);
}

/* Removes a directory with all that is in it. */
static inline void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
