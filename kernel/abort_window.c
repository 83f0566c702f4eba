/*
 * Tells requests that were sent before an error from those that were sent upon
 * it. Runs in the kernel process, on the thread of the zloop.
 *
 * The failed request was made at d (the client's clock) and arrived at a (our
 * clock); its reply leaves at t. A request that the client makes upon that reply
 * has a date of at least d + (t - a), since both ways took time. What is older
 * was sent without knowing.
 */

#include "kernel/abort_window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bridge/clock.h"
#include "bridge/json_text.h"

enum { DATE_MAX = 40, BROWSER_DIGITS = 3 };

/* "+01:00" as seconds; "Z" is 0. */
static int parse_zone(const char *text, int64_t *ret_seconds)
{
    struct tm offset = {0};
    const char *end;

    if (strcmp(text, "Z") == 0) {
        *ret_seconds = 0;
        return 0;
    }
    end = *text == '+' || *text == '-' ? strptime(text + 1, "%H:%M", &offset) : NULL;
    if (!end || *end != '\0') {
        return -EINVAL;
    }
    *ret_seconds = (*text == '-' ? -60 : 60) * ((int64_t)offset.tm_hour * 60 + offset.tm_min);
    return 0;
}

/* ".123456" as microseconds, moving on; nothing there is 0. */
static int64_t parse_fraction(const char **text, int *ret_digits)
{
    int64_t us = 0, unit = 100000;

    *ret_digits = 0;
    if (**text != '.') {
        return 0;
    }
    for (++*text; **text >= '0' && **text <= '9'; ++*text, unit /= 10) {
        us += (**text - '0') * unit;
        ++*ret_digits;
    }
    return us;
}

int abort_window_parse_date(struct slice text, int64_t *ret_us, int *ret_digits)
{
    char date[DATE_MAX];
    struct tm utc = {0};
    const char *at;
    int64_t zone, us;
    int digits;

    if (text.n >= sizeof date || memchr(text.p, '\0', text.n)) {
        return -EINVAL;
    }
    (void)snprintf(date, sizeof date, "%.*s", (int)text.n, (const char *)text.p);
    at = strptime(date, "%Y-%m-%dT%H:%M:%S", &utc);
    if (!at) {
        return -EINVAL;
    }
    us = parse_fraction(&at, &digits);
    if (parse_zone(at, &zone) < 0) {
        return -EINVAL;
    }
    *ret_us = ((int64_t)timegm(&utc) - zone) * 1000000 + us;
    *ret_digits = digits;
    return 0;
}

/* The date and the session of a raw header. -> 0, -EINVAL: not both are there. */
static int read_header(struct slice header, int64_t *ret_date_us, int *ret_digits,
                       struct buffer *ret_session)
{
    struct buffer date = BUFFER_INIT;
    struct slice raw_date, raw_session;
    int r = -EINVAL;

    if (json_object_get_kind(header, "date", JSON_STRING, &raw_date) == 0 &&
        json_object_get_kind(header, "session", JSON_STRING, &raw_session) == 0) {
        json_string_decode(raw_date, &date);
        r = abort_window_parse_date(buffer_slice(&date), ret_date_us, ret_digits);
        if (r == 0) {
            json_string_decode(raw_session, ret_session);
        }
    }
    buffer_release(&date);
    return r;
}

void abort_window_open(struct abort_window *self, struct slice header, int64_t arrived_us)
{
    int64_t now = clock_us(CLOCK_MONOTONIC), made_us, skew_us;
    int digits;

    self->closes_us = 0;
    buffer_clear(&self->session);
    if (read_header(header, &made_us, &digits, &self->session) < 0) {
        return;
    }
    skew_us = clock_us(CLOCK_REALTIME) - (now - arrived_us) - made_us;
    if (llabs(skew_us) < (int64_t)ABORT_WINDOW_SKEW_S * 1000000) {
        self->gap_us = digits == BROWSER_DIGITS ? (int64_t)ABORT_WINDOW_GAP_MS * 1000 : 0;
        self->until_us = made_us + (now - arrived_us) + self->gap_us;
        self->closes_us = now + (int64_t)ABORT_WINDOW_MS * 1000;
    }
}

void abort_window_release(struct abort_window *self)
{
    buffer_release(&self->session);
}

bool abort_window_covers(struct abort_window *self, struct slice header)
{
    int64_t now = clock_us(CLOCK_MONOTONIC), made_us;
    struct buffer session = BUFFER_INIT;
    bool covers;
    int digits;

    if (self->closes_us == 0 || now > self->closes_us) {
        return false;
    }
    covers = read_header(header, &made_us, &digits, &session) == 0 && made_us < self->until_us &&
             slice_equal(buffer_slice(&session), buffer_slice(&self->session));
    buffer_release(&session);
    if (covers && made_us + self->gap_us > self->until_us) {
        self->until_us = made_us + self->gap_us;
        self->closes_us = now + (int64_t)ABORT_WINDOW_MS * 1000;
    }
    return covers;
}
