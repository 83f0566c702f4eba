/* Tests of kernel/output.c: gathering, order, characters split over reads, the bound. */

#include <criterion/criterion.h>

#include "kernel/output.h"
#include "message_fixture.h"

#define HEADER "{\"msg_id\":\"a\",\"msg_type\":\"execute_request\"}"

struct stage {
    struct fixture_iopub sockets;
    struct session session;
    struct iopub iopub;
    struct output output;
    struct origin *origin;
};

static void not_busy(void *arg)
{
    (void)arg;
}

static void stage_init(struct stage *self, size_t bound)
{
    struct signer *signer;

    fixture_iopub_init(&self->sockets);
    session_init(&self->session, NULL);
    cr_assert(signer_new("hmac-sha256", slice_of("key"), &signer) == 0);
    iopub_init(&self->iopub, zsock_resolve(self->sockets.xpub), &self->session, signer);
    self->iopub.on_busy = not_busy;
    output_init(&self->output, &self->iopub, bound);
    self->origin = fixture_origin("client", HEADER);
    /* The subscription has arrived when it can be read; then nothing is lost. */
    zsock_set_rcvtimeo(self->sockets.xpub, 10000);
    zframe_t *subscription = zframe_recv(self->sockets.xpub);
    cr_assert(subscription);
    zframe_destroy(&subscription);
}

static void stage_release(struct stage *self)
{
    origin_unref(&self->origin);
    output_release(&self->output);
    fixture_iopub_release(&self->sockets);
    iopub_release(&self->iopub);
}

/* Appends a member of a content, decoded. */
static void decode(const char *content, const char *key, struct buffer *ret_text)
{
    struct slice raw;

    cr_assert(json_object_get_kind(slice_of(content), key, JSON_STRING, &raw) == 0);
    json_string_decode(raw, ret_text);
}

/* The next message must be this text on that stream. */
static void expect(struct stage *self, const char *name, const char *text)
{
    char *content = fixture_content(&self->sockets);
    struct buffer both = BUFFER_INIT, expected = BUFFER_INIT;

    decode(content, "name", &both);
    buffer_put_text(&both, ": ");
    decode(content, "text", &both);
    buffer_put_char(&both, '\0');
    buffer_printf(&expected, "%s: %s", name, text);
    buffer_put_char(&expected, '\0');
    cr_assert_str_eq((const char *)both.p, (const char *)expected.p);
    buffer_release(&both);
    buffer_release(&expected);
    zstr_free(&content);
}

Test(output, gathers_text_of_one_stream_and_keeps_the_order_of_two)
{
    struct stage stage;

    stage_init(&stage, 0);
    output_text(&stage.output, stage.origin, 0, slice_of("a"));
    output_text(&stage.output, stage.origin, 0, slice_of("b\n"));
    output_text(&stage.output, stage.origin, 1, slice_of("e\n"));
    output_text(&stage.output, stage.origin, 0, slice_of("c\n"));
    cr_assert(output_waits(&stage.output));
    output_flush(&stage.output);
    cr_assert_not(output_waits(&stage.output));
    expect(&stage, "stdout", "ab\n");
    expect(&stage, "stderr", "e\n");
    expect(&stage, "stdout", "c\n");
    stage_release(&stage);
}

Test(output, joins_a_character_that_two_reads_of_a_pipe_split)
{
    struct stage stage;

    stage_init(&stage, 0);
    output_pipe(&stage.output, stage.origin, 0, slice_of("x\xc3"));
    output_pipe(&stage.output, stage.origin, 1, slice_of("e"));
    output_pipe(&stage.output, stage.origin, 0, slice_of("\xa9y\n"));
    output_flush(&stage.output);
    expect(&stage, "stdout", "x");
    expect(&stage, "stderr", "e");
    expect(&stage, "stdout", "éy\n");
    stage_release(&stage);
}

Test(output, replaces_what_is_no_utf8_and_keeps_its_neighbours)
{
    struct stage stage;

    stage_init(&stage, 0);
    output_text(&stage.output, stage.origin, 0, slice_of("a\xed\xa0\x80z"));
    output_pipe(&stage.output, stage.origin, 0, slice_of("\xff|\xe2\x82"));
    output_finish(&stage.output, stage.origin);
    expect(&stage, "stdout", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd|\xef\xbf\xbd");
    stage_release(&stage);
}

Test(output, cuts_at_the_bound_with_one_marker_and_shows_the_tail_at_the_end)
{
    struct stage stage;

    stage_init(&stage, 4);
    output_text(&stage.output, stage.origin, 0, slice_of("äöü"));
    output_text(&stage.output, stage.origin, 0, slice_of("ß56"));
    output_pipe(&stage.output, stage.origin, 0, slice_of("789"));
    output_text(&stage.output, stage.origin, 1, slice_of("err"));
    output_finish(&stage.output, stage.origin);
    output_text(&stage.output, stage.origin, 0, slice_of("late"));
    output_flush(&stage.output);
    expect(&stage, "stdout", "äöüß\n...(truncated at 4 characters)");
    expect(&stage, "stderr", "err");
    expect(&stage, "stdout", "56789");
    output_text(&stage.output, NULL, 0, slice_of("no request, no bound"));
    output_flush(&stage.output);
    expect(&stage, "stdout", "no request, no bound");
    stage_release(&stage);
}

Test(output, sends_chunks_and_keeps_the_last_characters_of_a_flood)
{
    struct stage stage;
    char line[101], *content;
    size_t messages = 0, characters = 0;

    stage_init(&stage, 100000);
    memset(line, 'x', sizeof line - 1);
    line[100] = '\0';
    for (int i = 0; i < 3000; i++) {
        output_text(&stage.output, stage.origin, 0, slice_of(line));
    }
    output_finish(&stage.output, stage.origin);
    output_text(&stage.output, stage.origin, 1, slice_of("end"));
    output_flush(&stage.output);
    for (;;) {
        struct buffer name = BUFFER_INIT, text = BUFFER_INIT;
        bool end;

        content = fixture_content(&stage.sockets);
        decode(content, "name", &name);
        decode(content, "text", &text);
        end = slice_is(buffer_slice(&name), "stderr");
        messages += end ? 0 : 1;
        characters += end ? 0 : text.n;
        buffer_release(&name);
        buffer_release(&text);
        zstr_free(&content);
        if (end) {
            break;
        }
    }
    cr_assert_eq(messages, 2);
    cr_assert_eq(characters, 100000 + strlen("\n...(truncated at 100000 characters)") + 20000);
    stage_release(&stage);
}
