/* Tests of kernel/comms.c. */

#include <criterion/criterion.h>

#include "kernel/comms.h"

static const struct {
    const char *type, *content, *all;
} steps[] = {
    {"comm_open", "{\"comm_id\":\"a\",\"target_name\":\"t\"}", "{\"a\":{\"target_name\":\"t\"}}"},
    {"comm_open", "{\"comm_id\":\"b\",\"target_name\":\"u\"}",
     "{\"b\":{\"target_name\":\"u\"},\"a\":{\"target_name\":\"t\"}}"},
    {"comm_msg", "{\"comm_id\":\"c\",\"data\":{}}",
     "{\"b\":{\"target_name\":\"u\"},\"a\":{\"target_name\":\"t\"}}"},
    {"comm_open", "{\"comm_id\":\"a\",\"target_name\":\"v\"}",
     "{\"a\":{\"target_name\":\"v\"},\"b\":{\"target_name\":\"u\"}}"},
    {"comm_close", "{\"comm_id\":\"b\"}", "{\"a\":{\"target_name\":\"v\"}}"},
    {"comm_close", "{\"comm_id\":\"b\"}", "{\"a\":{\"target_name\":\"v\"}}"},
    {"comm_open", "{\"comm_id\":7}", "{\"a\":{\"target_name\":\"v\"}}"},
    {"comm_open", "{}", "{\"a\":{\"target_name\":\"v\"}}"},
    {"comm_close", "{\"comm_id\":\"a\"}", "{}"},
};

Test(comms, those_that_were_opened_and_not_closed_are_told)
{
    struct comms comms = {.first = NULL};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct buffer member = BUFFER_INIT, expected = BUFFER_INIT;

        comms_note(&comms, slice_of(steps[i].type), slice_of(steps[i].content));
        comms_put_info(&comms, (struct slice){NULL, 0}, &member);
        buffer_put_char(&member, '\0');
        buffer_printf(&expected, "\"comms\":%s", steps[i].all);
        buffer_put_char(&expected, '\0');
        cr_expect_str_eq((const char *)member.p, (const char *)expected.p, "step %zu", i);
        buffer_release(&member);
        buffer_release(&expected);
    }
    comms_release(&comms);
}

Test(comms, a_target_leaves_its_own)
{
    struct comms comms = {.first = NULL};
    struct buffer member = BUFFER_INIT;

    comms_note(&comms, slice_of("comm_open"),
               slice_of("{\"comm_id\":\"a\",\"target_name\":\"t\"}"));
    comms_note(&comms, slice_of("comm_open"),
               slice_of("{\"comm_id\":\"b\",\"target_name\":\"u\"}"));
    comms_put_info(&comms, slice_of("\"t\""), &member);
    buffer_put_char(&member, '\0');
    cr_assert_str_eq((const char *)member.p, "\"comms\":{\"a\":{\"target_name\":\"t\"}}");
    buffer_release(&member);
    comms_release(&comms);
}

Test(comms, each_is_closed_once)
{
    struct comms comms = {.first = NULL};
    struct buffer content = BUFFER_INIT;

    comms_note(&comms, slice_of("comm_open"),
               slice_of("{\"comm_id\":\"a\",\"target_name\":\"t\"}"));
    comms_note(&comms, slice_of("comm_open"),
               slice_of("{\"comm_id\":\"b\",\"target_name\":\"u\"}"));
    cr_assert(comms_close_next(&comms, &content));
    cr_assert(comms_close_next(&comms, &content));
    cr_assert_not(comms_close_next(&comms, &content));
    buffer_put_char(&content, '\0');
    cr_assert_str_eq((const char *)content.p, "{\"comm_id\":\"b\",\"data\":{}}"
                                              "{\"comm_id\":\"a\",\"data\":{}}");
    cr_assert_eq(comms.count, 0);
    buffer_release(&content);
}
