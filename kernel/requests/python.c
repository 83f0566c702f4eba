/*
 * Requests that Python answers, apart from execute_request (Messaging spec,
 * "Introspection", "Completion", "Code completeness", "Custom messages"). Their
 * fields are checked here, so that Python only sees what is right.
 */

#include <stdio.h>

#include "bridge/json_text.h"
#include "bridge/xalloc.h"
#include "kernel/requests/requests.h"

struct field {
    const char *name;
    enum json_kind kind; /* JSON_NUMBER: a whole number */
    bool required;
};

enum { FIELDS_MAX = 4 };

static const struct {
    const char *type;
    enum job_kind kind;
    struct field field[FIELDS_MAX]; /* up to one without a name */
} types[] = {
    {"complete_request",
     JOB_COMPLETE,
     {{"code", JSON_STRING, true}, {"cursor_pos", JSON_NUMBER, false}}},
    {"inspect_request",
     JOB_ASK,
     {{"code", JSON_STRING, true},
      {"cursor_pos", JSON_NUMBER, false},
      {"detail_level", JSON_NUMBER, false}}},
    {"is_complete_request", JOB_ASK, {{"code", JSON_STRING, true}}},
    {"comm_open",
     JOB_COMM,
     {{"comm_id", JSON_STRING, true},
      {"target_name", JSON_STRING, true},
      {"data", JSON_OBJECT, false}}},
    {"comm_msg", JOB_COMM, {{"comm_id", JSON_STRING, true}, {"data", JSON_OBJECT, false}}},
    {"comm_close", JOB_COMM, {{"comm_id", JSON_STRING, true}, {"data", JSON_OBJECT, false}}},
};

static const char *const kind_names[] = {
    [JSON_NUMBER] = "whole number",
    [JSON_STRING] = "string",
    [JSON_OBJECT] = "object",
};

/* -> 0, or why the field is wrong (JSON_ENOENT, JSON_EKIND). */
static int check_field(struct slice content, const struct field *field)
{
    struct slice value;
    int64_t number;
    int r = json_object_find(content, field->name, &value);

    if (r == JSON_ENOENT) {
        return field->required ? r : 0;
    }
    if (field->kind == JSON_NUMBER) {
        return json_object_get_int(content, field->name, 0, &number);
    }
    return r == 0 ? json_object_get_kind(content, field->name, field->kind, &value) : r;
}

/* The first thing that is wrong with a message, owned; NULL: nothing. */
static char *complain(const struct origin *origin, const struct wire_message *message,
                      const struct field field[FIELDS_MAX])
{
    char text[256];
    int n = (int)origin->type.n;
    const char *type = (const char *)origin->type.p;

    if (message->content_error != 0) {
        (void)snprintf(text, sizeof text, "%.*s: %s: %s", n, type, message->bad_part,
                       wire_error_text(message->content_error));
        return xstrdup(text);
    }
    for (size_t i = 0; i < FIELDS_MAX && field[i].name; i++) {
        int r = check_field(message->content, &field[i]);

        if (r == JSON_ENOENT) {
            (void)snprintf(text, sizeof text, "%.*s: '%s' is missing", n, type, field[i].name);
            return xstrdup(text);
        }
        if (r < 0) {
            (void)snprintf(text, sizeof text, "%.*s: '%s' is no %s", n, type, field[i].name,
                           kind_names[field[i].kind]);
            return xstrdup(text);
        }
    }
    return NULL;
}

void request_python(struct kernel *kernel, struct origin *origin,
                    const struct wire_message *message)
{
    size_t i = 0;
    struct job *job;

    while (!slice_is(origin->type, types[i].type)) {
        i++; /* the table of requests sends nothing else here */
    }
    job = job_new(message, origin, types[i].kind);
    if (!job->invalid) {
        job->invalid = complain(origin, message, types[i].field);
    }
    if (types[i].kind == JOB_COMM && !job->invalid) {
        comms_note(&kernel->comms, origin->type, message->content);
    }
    lane_put(kernel, &job);
}
