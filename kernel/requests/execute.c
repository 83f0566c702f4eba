/*
 * execute_request (Messaging spec, "Execute"): checked here, so that Python
 * only sees what is right, and queued in its lane.
 */

#include <stdio.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/requests/requests.h"

/* A wrong field of the content, named. The caller frees it. */
static char *complaint(const char *field, const char *what)
{
    char text[256];

    (void)snprintf(text, sizeof text, "execute_request: '%s' %s", field, what);
    return xstrdup(text);
}

/* A raw JSON string of nothing but white space. */
static bool is_blank(struct slice raw)
{
    struct buffer text = BUFFER_INIT;
    bool blank = true;

    if (raw.n > 256) {
        return false;
    }
    json_string_decode(raw, &text);
    for (size_t i = 0; i < text.n && blank; i++) {
        blank = strchr(" \t\r\n\f", text.p[i]) != NULL && text.p[i] != '\0';
    }
    buffer_release(&text);
    return blank;
}

/* user_expressions: an object of strings, or nothing. -> NULL: right. */
static char *check_expressions(struct slice content)
{
    struct slice expressions, key, value;
    size_t at = 0;

    if (json_object_find(content, "user_expressions", &expressions) < 0 ||
        json_kind_of(expressions) == JSON_NULL) {
        return NULL;
    }
    if (json_kind_of(expressions) != JSON_OBJECT) {
        return complaint("user_expressions", "is no object");
    }
    while (json_object_next(expressions, &at, &key, &value)) {
        if (json_kind_of(value) != JSON_STRING) {
            return complaint("user_expressions", "has a value that is no string");
        }
    }
    return NULL;
}

/* Fills the fields in. -> NULL, or what is wrong. */
static char *read_content(struct job *self)
{
    struct slice content = self->part[JOB_CONTENT];
    bool allow_stdin;
    struct {
        const char *name;
        bool otherwise;
        bool *value;
    } flags[] = {
        {"silent", false, &self->silent},
        {"stop_on_error", true, &self->stop_on_error},
        {"store_history", true, &self->store_history},
        {"allow_stdin", false, &allow_stdin},
    };

    switch (json_object_get_kind(content, "code", JSON_STRING, &self->code)) {
    case 0:
        break;
    case JSON_ENOENT:
        return complaint("code", "is missing");
    default:
        return complaint("code", "is no string");
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (json_object_get_bool(content, flags[i].name, flags[i].otherwise, flags[i].value) < 0) {
            return complaint(flags[i].name, "is no boolean");
        }
    }
    self->store_history = self->store_history && !self->silent && !is_blank(self->code);
    return check_expressions(content);
}

void request_execute(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message)
{
    struct job *job = job_new(message, origin, JOB_EXECUTE);

    if (!job->invalid) {
        job->invalid = message->content_error != 0
                           ? complaint(message->bad_part, wire_error_text(message->content_error))
                           : read_content(job);
    }
    lane_put(kernel, &job);
}
