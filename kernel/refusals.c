/*
 * Log lines of refused messages, a few of them: see refusals.h. Runs in the
 * kernel process. Owns nothing.
 */

#include "kernel/refusals.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "kernel/log.h"

enum { TEXT_MAX = 256 }; /* a message type is the client's text, of any length */

void refusals_tell(struct refusals *self, int64_t now_us, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;

    self->told.per_sec = 1;
    if (pace_level(&self->told, now_us) >= REFUSALS_LINES) {
        self->untold++;
        return;
    }
    pace_add(&self->told, now_us, 1);
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (self->untold > 0) {
        log_warning("%s (and %" PRIu64 " more dropped or ignored before it)", text, self->untold);
        self->untold = 0;
    } else {
        log_warning("%s", text);
    }
}

void refusals_tell_rest(struct refusals *self)
{
    if (self->untold > 0) {
        log_warning("%" PRIu64 " more messages were dropped or ignored", self->untold);
        self->untold = 0;
    }
}
