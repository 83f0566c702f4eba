/* Tests of kernel/origin.c. */

#include <criterion/criterion.h>

#include "message_fixture.h"

#define HEADER "{\"msg_id\": \"a\",  \"msg_type\":\"execute_request\", \"x\":null}"

Test(origin, keeps_identity_type_and_the_header_byte_for_byte)
{
    struct origin *origin = fixture_origin("client-1", HEADER);

    cr_assert(slice_is(origin->header, HEADER));
    cr_assert(slice_is(origin->type, "execute_request"));
    cr_assert_eq(origin->identities, 1);
    cr_assert(slice_is(origin->identity[0], "client-1"));
    origin_unref(&origin);
    cr_assert_null(origin);
}

Test(origin, is_found_by_number_and_who_has_the_word_stands_in_for_what_is_gone)
{
    struct origins *origins = calloc(1, sizeof *origins);
    struct origin *first = fixture_origin("one", HEADER), *last = NULL;

    cr_assert_null(origins_find(origins, 0));
    cr_assert_null(origins_find(origins, 7));
    origins_add(origins, first);
    cr_assert_eq(origins_find(origins, 1), first);
    for (int i = 0; i < ORIGINS_KEPT; i++) {
        origin_unref(&last);
        last = fixture_origin("more", HEADER);
        origins_add(origins, last);
    }
    cr_assert_null(origins_find(origins, 0), "nobody has said a word");
    origins_speak(origins, first);
    cr_assert_eq(origins_find(origins, 0), first);
    origins_speak(origins, last);
    cr_assert_eq(origins_find(origins, 0), last);
    cr_assert_eq(origins_find(origins, 1), last, "the first one's place was taken");
    cr_assert_eq(origins_find(origins, ORIGINS_KEPT + 1), last);
    cr_assert_eq(origins_find(origins, 2)->number, 2);
    origin_unref(&first);
    origin_unref(&last);
    origins_release(origins);
    free(origins);
}

Test(origin, is_found_by_its_msg_id_while_it_is_kept)
{
#define TYPE "\"msg_type\":\"t\"}"
    static const char *const headers[] = {
        "{\"msg_id\":\"old\"," TYPE,
        "{\"msg_id\":\"tw\\u0069ce\"," TYPE,
        "{\"msg_id\":\"twice\"," TYPE,
        "{\"msg_id\":7," TYPE,
    };
    struct origins *origins = calloc(1, sizeof *origins);
    struct origin *last = NULL;

    cr_assert_null(origins_of(origins, slice_of("old")));
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        origin_unref(&last);
        last = fixture_origin("one", headers[i]);
        origins_add(origins, last);
    }
    cr_assert_eq(origins_of(origins, slice_of("old"))->number, 1);
    cr_assert_eq(origins_of(origins, slice_of("twice"))->number, 3, "the newest");
    cr_assert_null(origins_of(origins, slice_of("7")));
    cr_assert_null(origins_of(origins, slice_of("")));
    for (int i = 0; i < ORIGINS_KEPT - 3; i++) {
        origin_unref(&last);
        last = fixture_origin("more", HEADER);
        origins_add(origins, last);
    }
    cr_assert_null(origins_of(origins, slice_of("old")), "its place was taken");
    cr_assert_eq(origins_of(origins, slice_of("twice"))->number, 3);
    origin_unref(&last);
    origins_release(origins);
    free(origins);
}
