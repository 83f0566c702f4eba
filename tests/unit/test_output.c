/*
 * Tests of kernel/output.c: gathering, order, characters split over reads, overwritten text, the
 * size of messages and their time, the bound.
 */

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

/* In a kernel the loop does this, bit by bit. */
static void sign_all(void *arg)
{
    struct iopub *iopub = arg;

    while (iopub_is_busy(iopub)) {
        iopub_work(iopub);
    }
}

static void stage_init(struct stage *self, size_t bound)
{
    struct signer *signer;

    fixture_iopub_init(&self->sockets);
    session_init(&self->session, NULL);
    cr_assert(signer_new("hmac-sha256", slice_of("key"), &signer) == 0);
    iopub_init(&self->iopub, zsock_resolve(self->sockets.xpub), &self->session, signer);
    self->iopub.on_busy = sign_all;
    self->iopub.on_busy_arg = &self->iopub;
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

/* Counts the messages of stdout up to one of stderr, which must come last. */
static void count_until_stderr(struct stage *self, size_t *ret_messages, size_t *ret_characters)
{
    *ret_messages = *ret_characters = 0;
    for (;;) {
        struct buffer name = BUFFER_INIT, text = BUFFER_INIT;
        char *content = fixture_content(&self->sockets);
        bool end;

        decode(content, "name", &name);
        decode(content, "text", &text);
        end = slice_is(buffer_slice(&name), "stderr");
        *ret_messages += end ? 0 : 1;
        *ret_characters += end ? 0 : utf8_count(buffer_slice(&text));
        buffer_release(&name);
        buffer_release(&text);
        zstr_free(&content);
        if (end) {
            return;
        }
    }
}

Test(output, a_flood_leaves_in_few_messages_with_its_last_characters)
{
    static const struct {
        size_t bound, lines;
        size_t most; /* messages */
    } rows[] = {{1000000, 10000, 6}, {1000000, 30000, 7}, {100000, 3000, 2}, {0, 50000, 14}};
    char line[101];

    memset(line, 'x', sizeof line - 1);
    line[100] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t messages, characters, wanted = rows[i].lines * 100;
        struct stage stage;
        char marker[64];

        stage_init(&stage, rows[i].bound);
        for (size_t n = 0; n < rows[i].lines; n++) {
            output_text(&stage.output, stage.origin, 0, slice_of(line));
        }
        output_finish(&stage.output, stage.origin);
        output_text(&stage.output, stage.origin, 1, slice_of("end"));
        output_flush(&stage.output);
        count_until_stderr(&stage, &messages, &characters);
        if (rows[i].bound > 0 && wanted > rows[i].bound) {
            (void)snprintf(marker, sizeof marker, "\n...(truncated at %zu characters)",
                           rows[i].bound);
            wanted = rows[i].bound + strlen(marker) + OUTPUT_TAIL;
        }
        cr_expect_leq(messages, rows[i].most, "%zu: %zu messages", rows[i].lines, messages);
        cr_expect_eq(characters, wanted, "%zu: %zu characters", rows[i].lines, characters);
        stage_release(&stage);
    }
}

Test(output, the_first_text_after_a_pause_is_due_at_once_and_a_flood_is_spaced)
{
    enum { PAUSE_US = OUTPUT_SPACING_MAX_MS * 1000 };
    struct output *output;
    struct stage stage;
    char text[2001];

    memset(text, 'x', sizeof text - 1);
    text[2000] = '\0';
    stage_init(&stage, 0);
    output = &stage.output;
    output_text(output, stage.origin, 0, slice_of("first"));
    cr_assert_leq(output_due_ms(output), OUTPUT_DELAY_MS);
    output_flush(output);
    for (int i = 0; i < 100; i++) {
        output_text(output, stage.origin, 0, slice_of(text));
    }
    output_flush(output);
    /* 200,000 characters were just published: the next ones wait for more. */
    output_text(output, stage.origin, 0, slice_of("x"));
    cr_assert_gt(output_due_ms(output), OUTPUT_DELAY_MS);
    cr_assert_leq(output_due_ms(output), OUTPUT_SPACING_MAX_MS);
    output_flush(output);
    /* The same text, had it come after a pause. */
    output->flushed_us -= PAUSE_US;
    output_text(output, stage.origin, 0, slice_of("x"));
    cr_assert_leq(output_due_ms(output), OUTPUT_DELAY_MS);
    output->due_us = 0;
    cr_assert_eq(output_due_ms(output), 0);
    stage_release(&stage);
}

Test(output, states_of_a_progress_bar_that_wait_become_one)
{
    struct stage stage;
    char state[32];

    stage_init(&stage, 0);
    for (int i = 0; i <= 1000000; i += 10) {
        (void)snprintf(state, sizeof state, "\r%3d%% %7d", i / 10000, i);
        output_text(&stage.output, stage.origin, 0, slice_of(state));
    }
    cr_assert_leq(stage.output.text.n, 4 * OUTPUT_CHUNK, "waiting text is bounded too");
    output_text(&stage.output, stage.origin, 0, slice_of("\nnext"));
    output_flush(&stage.output);
    expect(&stage, "stdout", "\r100% 1000000\nnext");
    stage_release(&stage);
}

Test(output, an_hour_of_progress_bars_stays_within_the_bound)
{
    struct stage stage;

    stage_init(&stage, 100);
    stage.origin->quota[0].since_us = 1; /* the machine has been up for a while */
    for (int i = 0; i < 1000; i++) {
        output_text(&stage.output, stage.origin, 0, slice_of("\r\x1b[32m####\x1b[0m#"));
        output_flush(&stage.output);
        expect(&stage, "stdout", "\r\x1b[32m####\x1b[0m#");
    }
    output_text(&stage.output, stage.origin, 0, slice_of("\rdone\n"));
    output_finish(&stage.output, stage.origin);
    expect(&stage, "stdout", "\rdone\n");
    stage_release(&stage);
}

Test(output, a_flood_of_overwritten_text_that_must_be_sent_is_cut)
{
    size_t messages, characters;
    struct stage stage;

    stage_init(&stage, 1000);
    for (int i = 0; i < 1000000; i++) {
        output_text(&stage.output, stage.origin, 0, slice_of("\r\x1b[32m#\x1b[0m"));
    }
    output_finish(&stage.output, stage.origin);
    output_text(&stage.output, stage.origin, 1, slice_of("end"));
    output_flush(&stage.output);
    count_until_stderr(&stage, &messages, &characters);
    /* 11,000,000 characters; a second of it is a chunk and what a progress bar may. */
    cr_assert_leq(characters, 2 * OUTPUT_CHUNK_MAX + OUTPUT_TAIL, "%zu", characters);
    cr_assert_gt(stage.origin->quota[0].dropped, 5000000);
    stage_release(&stage);
}

Test(output, stream_messages_in_quick_turn_are_noticed)
{
    struct stage stage;

    stage_init(&stage, 0);
    for (int i = 0; i < OUTPUT_MESSAGES; i++) {
        output_text(&stage.output, stage.origin, i % 2, slice_of("x\n"));
    }
    cr_assert_not(output_is_fast(&stage.output));
    for (int i = 0; i < OUTPUT_MESSAGES; i++) {
        output_text(&stage.output, stage.origin, i % 2, slice_of("x\n"));
    }
    cr_assert(output_is_fast(&stage.output));
    stage.output.own_messages = OUTPUT_OWN_MESSAGES;
    cr_assert_not(output_is_fast(&stage.output), "others' messages hold nobody up");
    stage.output.own_messages = OUTPUT_MESSAGES;
    stage.output.messages.at_us -= 10 * 1000000;
    cr_assert_not(output_is_fast(&stage.output), "ten seconds later");
    stage_release(&stage);
}
