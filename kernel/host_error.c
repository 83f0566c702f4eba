/*
 * Codes, their names, and their sentences. Part of libeinkorn-host. Owns nothing.
 */

#include "kernel/host_error.h"

#include <stdarg.h>
#include <stdio.h>

/* By -code. */
static const char *const kinds[] = {
    [-HOST_EBUSY] = "KernelBusyError",  [-HOST_EVALUE] = "ValueError",
    [-HOST_ETYPE] = "TypeError",        [-HOST_ESTART] = "RuntimeError",
    [-HOST_EDEAD] = "RuntimeError",     [-HOST_EPROTOCOL] = "RuntimeError",
    [-HOST_EDEADLINE] = "TimeoutError",
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
_Static_assert(KINDS == -HOST_EDEADLINE + 1, "each code has a name");

const char *host_error_kind(int code)
{
    return code < 0 && code > -KINDS ? kinds[-code] : "no error";
}

int host_error_set(struct host_error *reterr, int code, int cause, const char *format, ...)
{
    if (reterr) {
        va_list args;

        reterr->code = code;
        reterr->cause = cause;
        va_start(args, format);
        (void)vsnprintf(reterr->text, sizeof reterr->text, format, args);
        va_end(args);
    }
    return code;
}
