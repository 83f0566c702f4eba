#ifndef KERNEL_HOST_ERROR_H
#define KERNEL_HOST_ERROR_H

/*
 * How functions of libeinkorn-host fail. Any thread.
 */

#include "kernel/host.h"

/* Fills *reterr, if there is one. `cause` is an errno, or 0. -> code. */
int host_error_set(struct host_error *reterr, int code, int cause, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
