#ifndef KERNELSPEC_FILES_H
#define KERNELSPEC_FILES_H

/*
 * Files, written whole or not at all.
 */

#include "bridge/buffer.h"

/* A formatted text on the heap, for paths above all. */
char *text_format(const char *text, ...) __attribute__((format(printf, 1, 2)));

/* Makes a directory and those above it. -> 0, -errno. */
int files_make_directories(const char *path);

/* Puts a whole file in its place in one step. -> 0, -errno. */
int files_put(const char *directory, const char *name, struct slice bytes);

/* Copies a file into another directory, in one step. -> 0, -errno. */
int files_copy(const char *from, const char *to, const char *name);

/* Moves a file into another directory of the same file system. -> 0, -errno. */
int files_move(const char *from, const char *to, const char *name);

/* -> 0, -errno. */
int files_remove(const char *directory, const char *name);

#endif
