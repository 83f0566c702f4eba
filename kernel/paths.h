#ifndef KERNEL_PATHS_H
#define KERNEL_PATHS_H

/*
 * Where the parts of Einkorn lie. They are found relative to the running
 * executable, so an installed tree can be moved, and the build directory, which
 * mirrors the installed tree, works as it is:
 *
 *   bin/einkorn
 *   lib/einkorn/einkorn-kernel.so
 *   lib/einkorn/einkorn-python
 *   lib/einkorn/_einkorn.abi3.so
 *   lib/einkorn/python/einkorn/…
 *   lib/einkorn/kernelspec/…
 */

struct paths {
    char *program;    /* this executable */
    char *library;    /* the directory lib/einkorn */
    char *kernel;     /* einkorn-kernel.so */
    char *launcher;   /* einkorn-python */
    char *runner;     /* _einkorn.abi3.so */
    char *python;     /* the directory that holds the package `einkorn` */
    char *kernelspec; /* the directory of the logos and the probe */
};

/*
 * Absolute paths without symbolic links, each owned by the struct. Whether the
 * files exist is for those to see who open them.
 * -> 0, -errno: /proc/self/exe cannot be read.
 */
int paths_init(struct paths *ret_paths);
void paths_release(struct paths *self);

#endif
