/* The rules of order between the ring and the pipes, one by one. */

#include "test_link_door.h"

#include <fcntl.h>
#include <pthread.h>

#include "bridge/link_consumer.h"

static struct door door;

static void open_door(void)
{
    door_open(&door);
}
static void shut_door(void)
{
    door_close(&door);
}
TestSuite(link_pipes, .init = open_door, .fini = shut_door, .timeout = 60);

static void put(uint32_t kind, const char *text)
{
    struct slice part = slice_of(text);
    cr_assert(eq(int, link_producer_write(&door.producer, kind, 1, &part, 1, NULL), 0));
}

static void put_pipe(size_t i, const char *text)
{
    cr_assert(eq(int, (int)write(door.stdio[i], text, strlen(text)), (int)strlen(text)));
}

static void expect(bool from_pipe, bool is_stderr, const char *text)
{
    struct link_item item;
    cr_assert(eq(int, door_next(&door, &item), 1), "instead of %s", text);
    cr_assert(eq(int, item.from_pipe, from_pipe));
    cr_assert(eq(int, item.is_stderr, is_stderr));
    cr_assert(slice_is(item.payload, text), "got %.*s instead of %s", (int)item.payload.n,
              (const char *)item.payload.p, text);
}

Test(link_pipes, text_of_a_pipe_stands_between_the_records_it_was_written_between)
{
    put(LINK_STREAM, "a");
    put_pipe(0, "b\n");
    put_pipe(1, "c\n");
    put(LINK_STREAM, "d");
    put_pipe(1, "e\n");
    put(LINK_DONE, "f");
    put_pipe(0, "g\n");
    link_consumer_begin(&door.consumer);
    expect(false, false, "a");
    expect(true, false, "b\n");
    expect(true, true, "c\n");
    expect(false, false, "d");
    expect(true, true, "e\n");
    expect(false, false, "f");
    expect(true, false, "g\n");
}

Test(link_pipes, text_written_after_the_round_began_waits_for_its_place)
{
    put(LINK_STREAM, "a");
    put_pipe(0, "b\n");
    put(LINK_STREAM, "c");
    link_consumer_begin(&door.consumer);
    put_pipe(0, "d\n");
    put(LINK_STREAM, "e");
    expect(false, false, "a");
    expect(true, false, "b\n");
    expect(false, false, "c");
    expect(true, false, "d\n");
    expect(false, false, "e");
}

Test(link_pipes, text_that_the_kernel_took_before_the_record_was_written_precedes_it)
{
    struct link_item item;
    put_pipe(0, "a\n");
    link_consumer_begin(&door.consumer); /* takes the text, not handed out yet */
    put(LINK_STREAM, "b");
    expect(true, false, "a\n");
    expect(false, false, "b");
    cr_assert(eq(int, door_next(&door, &item), 0));
}

Test(link_pipes, text_taken_before_a_record_and_a_head_loaded_after_it_keep_their_order)
{
    put_pipe(0, "a\n");
    put_pipe(1, "b\n");
    link_text_fill(&door.consumer); /* the first half of a begin */
    put(LINK_STREAM, "c");
    link_consumer_begin(&door.consumer);
    expect(true, false, "a\n");
    expect(true, true, "b\n");
    expect(false, false, "c");
}

static void grow_pipe(size_t i)
{
    cr_assert(ge(int, fcntl(door.stdio[i], F_SETPIPE_SZ, 1 << 20), 1 << 20));
}

/* A round reads 256 KiB, so the rest is read when the SYNC asks for it. */
Test(link_pipes, reading_on_for_a_sync_takes_no_byte_above_its_position)
{
    enum { SIZE = 300 << 10 };
    static char text[SIZE];
    struct link_item item;
    size_t sum = 0;
    grow_pipe(0);
    memset(text, 'x', SIZE);
    cr_assert(eq(int, (int)write(door.stdio[0], text, SIZE), SIZE));
    put(LINK_STREAM, "a");
    link_consumer_begin(&door.consumer);
    put(LINK_STREAM, "b");
    put_pipe(0, "c\n");
    while (door_next(&door, &item) == 1 && item.from_pipe) {
        sum += item.payload.n;
    }
    cr_assert(eq(sz, sum, SIZE));
    cr_assert(slice_is(item.payload, "a"));
    expect(false, false, "b");
    expect(true, false, "c\n");
}

enum { PAIRS = 100000, FILLING = 200 << 10 };
static _Atomic bool pairs_written;

/* Each time a record "r", then a "p" in the pipe. */
static void *write_pairs(void *unused)
{
    struct slice part = slice_of("r");
    for (int i = 0; i < PAIRS; i++) {
        link_producer_write(&door.producer, LINK_STREAM, 1, &part, 1, NULL);
        if (write(door.stdio[1], "p", 1) != 1) {
            break;
        }
    }
    atomic_store(&pairs_written, true);
    return unused;
}

/* The filling makes a round's reading long: much is written meanwhile. */
Test(link_pipes, no_text_overtakes_a_record_that_was_written_while_the_round_began)
{
    static char filling[FILLING];
    struct link_item item;
    pthread_t thread;
    int records = 0, texts = 0;
    grow_pipe(1);
    memset(filling, '.', FILLING);
    pthread_create(&thread, NULL, write_pairs, NULL);
    while (texts < PAIRS) {
        if (!atomic_load(&pairs_written)) {
            cr_assert(eq(int, (int)write(door.stdio[1], filling, FILLING), FILLING));
        }
        link_consumer_begin(&door.consumer);
        while (link_consumer_next(&door.consumer, &item) == 1) {
            records += !item.from_pipe;
            for (size_t i = 0; item.from_pipe && i < item.payload.n; i++) {
                texts += item.payload.p[i] == 'p';
            }
            cr_assert(le(int, texts, records));
        }
    }
    pthread_join(thread, NULL);
}

Test(link_pipes, only_done_has_a_sync_when_nothing_was_written_to_the_pipes)
{
    uint64_t before = atomic_load(&door.consumer.memory.page->head);
    put(LINK_STREAM, "a");
    uint64_t plain = atomic_load(&door.consumer.memory.page->head) - before;
    put(LINK_DONE, "a");
    uint64_t done = atomic_load(&door.consumer.memory.page->head) - before - plain;
    cr_assert(eq(u64, plain, 32));
    cr_assert(eq(u64, done, 64));
}

Test(link_pipes, large_and_split_payloads_have_their_sync_before_their_first_record)
{
    static uint8_t bytes[LINK_RECORD_MAX + 1];
    struct slice part = {bytes, sizeof bytes};
    struct link_item item;
    put_pipe(1, "a\n");
    cr_assert(eq(int, link_producer_write(&door.producer, LINK_PUBLISH, 1, &part, 1, NULL), 0));
    link_consumer_begin(&door.consumer);
    expect(true, true, "a\n");
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(eq(sz, item.payload.n, sizeof bytes));
}

Test(link_pipes, a_flooded_pipe_is_handed_out_in_pieces_and_whole)
{
    static char text[60000];
    struct link_item item;
    size_t sum = 0;
    memset(text, 'x', sizeof text);
    cr_assert(eq(int, (int)write(door.stdio[0], text, sizeof text), (int)sizeof text));
    put(LINK_DONE, "end");
    link_consumer_begin(&door.consumer);
    while (door_next(&door, &item) == 1 && item.from_pipe) {
        cr_assert(le(sz, item.payload.n, 64 << 10));
        sum += item.payload.n;
    }
    cr_assert(eq(sz, sum, sizeof text));
    cr_assert(slice_is(item.payload, "end"));
}

Test(link_pipes, the_end_of_a_pipe_is_seen_and_a_position_beyond_it_is_no_wait)
{
    struct link_item item;
    put_pipe(0, "last\n");
    put(LINK_STREAM, "a");
    char stolen[16];
    cr_assert(eq(int, (int)read(door.consumer.pipe[0], stolen, sizeof stolen), 5));
    close(door.stdio[0]);
    close(door.stdio[1]);
    link_consumer_begin(&door.consumer);
    expect(false, false, "a");
    link_consumer_begin(&door.consumer);
    cr_assert(eq(int, link_consumer_next(&door.consumer, &item), 0));
    cr_assert(door.consumer.text[0].ended && door.consumer.text[1].ended);
}
