/*
 * Headers of outgoing messages. Runs in the kernel process.
 *
 * A msg_id is <session>_<pid>_<n>, as Python's clients make them: unique
 * without asking a random generator for each message, and no two messages are
 * ever byte-identical, which replay windows of clients need.
 */

#include "kernel/session.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/json_text.h"

void session_init(struct session *self, const char *username)
{
    uint8_t r[16];

    CHECK(sodium_init() >= 0);
    randombytes_buf(r, sizeof r);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40); /* RFC 9562: version 4, variant 1 */
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    (void)snprintf(self->id, sizeof self->id,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0],
                   r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13],
                   r[14], r[15]);
    (void)snprintf(self->username, sizeof self->username, "%s", username ? username : "username");
    self->pid = getpid();
    self->messages = 0;
}

void session_put_date(struct buffer *ret_date)
{
    struct timespec now;
    struct tm utc;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    buffer_printf(ret_date, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", utc.tm_year + 1900,
                  utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                  now.tv_nsec / 1000);
}

void session_put_header(struct session *self, const char *type, struct buffer *ret_header)
{
    buffer_printf(ret_header, "{\"msg_id\":\"%s_%d_%" PRIu64 "\",\"msg_type\":", self->id,
                  (int)self->pid, ++self->messages);
    json_put_string(ret_header, slice_of(type));
    buffer_put_text(ret_header, ",\"username\":");
    json_put_string(ret_header, slice_of(self->username));
    buffer_printf(ret_header, ",\"session\":\"%s\",\"date\":\"", self->id);
    session_put_date(ret_header);
    buffer_put_text(ret_header, "\",\"version\":\"5.5\"}");
}
