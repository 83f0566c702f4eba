#ifndef BRIDGE_CHECK_H
#define BRIDGE_CHECK_H

/*
 * CHECK and UNREACHABLE: for bugs of this program only, compiled into every
 * build. Whatever comes from a peer, a file, the network or the other process
 * gets an error path instead.
 */

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "einkorn: bug: %s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define UNREACHABLE(why)                                                                           \
    do {                                                                                           \
        (void)fprintf(stderr, "einkorn: bug: %s:%d: %s\n", __FILE__, __LINE__, (why));             \
        abort();                                                                                   \
    } while (0)

#endif
