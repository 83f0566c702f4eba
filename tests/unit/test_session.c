/* Tests of kernel/session.c. */

#include <criterion/criterion.h>
#include <jansson.h>
#include <regex.h>

#include "kernel/session.h"

static json_t *header(struct session *session, const char *type)
{
    struct buffer text = BUFFER_INIT;
    json_t *object;

    session_put_header(session, type, &text);
    object = json_loadb((const char *)text.p, text.n, 0, NULL);
    buffer_release(&text);
    cr_assert(object);
    return object;
}

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    bool is;

    cr_assert(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    is = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is;
}

Test(session, header_has_the_fields_of_the_messaging_spec)
{
    struct session session;
    json_t *object;

    session_init(&session, "ann \"x\"");
    object = header(&session, "status");
    cr_assert_eq(json_object_size(object), 6);
    cr_assert_str_eq(member(object, "msg_type"), "status");
    cr_assert_str_eq(member(object, "username"), "ann \"x\"");
    cr_assert_str_eq(member(object, "session"), session.id);
    cr_assert_str_eq(member(object, "version"), "5.5");
    cr_assert(matches(member(object, "date"),
                      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$"));
    cr_assert(matches(session.id, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                  "[0-9a-f]{12}$"));
    json_decref(object);
}

Test(session, message_ids_never_repeat_and_sessions_differ)
{
    struct session one, two;
    json_t *first, *second;

    session_init(&one, NULL);
    session_init(&two, NULL);
    first = header(&one, "status");
    second = header(&one, "status");
    cr_assert_str_neq(member(first, "msg_id"), member(second, "msg_id"));
    cr_assert_str_neq(one.id, two.id);
    cr_assert_str_eq(member(first, "username"), "username");
    json_decref(first);
    json_decref(second);
}
