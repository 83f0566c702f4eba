/* Whatever a worker writes into the shared memory, the kernel's end says LINK_ECORRUPT and lives.
 */

#include "test_link_door.h"

static struct door door;

static void open_door(void)
{
    door_open(&door);
}
static void shut_door(void)
{
    door_close(&door);
}
TestSuite(link_corrupt, .init = open_door, .fini = shut_door, .timeout = 60);

struct raw {
    uint32_t kind;
    uint32_t length;
    uint64_t request;
    uint64_t body[2];
};

/* Records as they lie in the ring, 32 bytes each, and what head says. */
struct breach {
    const char *what;
    struct raw record[3];
    uint64_t head;
    int items; /* that come before the breach */
};

static const struct breach breaches[] = {
    {"head beyond the ring", {{0}}, LINK_RING_SIZE + 16, 0},
    {"head behind tail", {{0}}, (uint64_t)-16, 0},
    {"head not aligned", {{LINK_STREAM, 1, 1, {0}}}, 40, 0},
    {"kind zero", {{0, 16, 1, {0}}}, 32, 0},
    {"kind unknown", {{LINK_KIND_END, 16, 1, {0}}}, 32, 0},
    {"flag unknown", {{LINK_STREAM | 0x800, 16, 1, {0}}}, 32, 0},
    {"high flag unknown", {{LINK_STREAM | 0x80000000, 16, 1, {0}}}, 32, 0},
    {"stderr of what is no stream", {{LINK_PUBLISH | LINK_STDERR, 16, 1, {0}}}, 32, 0},
    {"length beyond the limit", {{LINK_STREAM, LINK_RECORD_MAX + 1, 1, {0}}}, 2 << 20, 0},
    {"length that would overflow", {{LINK_STREAM, UINT32_MAX, 1, {0}}}, LINK_RING_SIZE, 0},
    {"length beyond head", {{LINK_STREAM, 17, 1, {0}}}, 32, 0},
    {"header cut by head", {{LINK_STREAM, 0, 1, {0}}, {LINK_STREAM, 1, 1, {0}}}, 48, 1},
    {"large with more", {{LINK_PUBLISH | LINK_LARGE | LINK_MORE, 16, 1, {1, 1}}}, 32, 0},
    {"large of a wrong length", {{LINK_PUBLISH | LINK_LARGE, 8, 1, {1, 1}}}, 32, 0},
    {"large that was not sent", {{LINK_PUBLISH | LINK_LARGE, 16, 1, {1, 1}}}, 32, 0},
    {"sync of a wrong length", {{LINK_SYNC, 8, 1, {0}}}, 32, 0},
    {"sync with a flag", {{LINK_SYNC | LINK_MORE, 16, 1, {0}}}, 32, 0},
    {"sync that is large", {{LINK_SYNC | LINK_LARGE, 16, 1, {0}}}, 32, 0},
    {"sync that goes back", {{LINK_SYNC, 16, 1, {5, 5}}, {LINK_SYNC, 16, 1, {5, 4}}}, 64, 0},
    {"more of another kind",
     {{LINK_PUBLISH | LINK_MORE, 16, 1, {0}}, {LINK_DONE, 16, 1, {0}}},
     64,
     0},
    {"more of another request",
     {{LINK_PUBLISH | LINK_MORE, 16, 1, {0}}, {LINK_PUBLISH, 16, 2, {0}}},
     64,
     0},
    {"more of another stream",
     {{LINK_STREAM | LINK_MORE, 16, 1, {0}}, {LINK_STREAM | LINK_STDERR, 16, 1, {0}}},
     64,
     0},
    {"sync inside more", {{LINK_PUBLISH | LINK_MORE, 16, 1, {0}}, {LINK_SYNC, 16, 1, {0}}}, 64, 0},
    {"large inside more",
     {{LINK_PUBLISH | LINK_MORE, 16, 1, {0}}, {LINK_PUBLISH | LINK_LARGE, 16, 1, {1, 1}}},
     64,
     0},
    {"good ones before it",
     {{LINK_STREAM, 16, 1, {0}}, {LINK_ASK, 9, 1, {0}}, {77, 0, 0, {0}}},
     96,
     2},
};

static void lay_down(const struct breach *breach)
{
    memcpy(door.consumer.memory.ring, breach->record, sizeof breach->record);
    atomic_store(&door.consumer.memory.page->head, breach->head);
}

Test(link_corrupt, every_breach_is_found_and_stays_found)
{
    for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
        struct link_item item;
        int items = 0;
        int r;
        lay_down(&breaches[i]);
        while ((r = door_next(&door, &item)) == 1) {
            items++;
        }
        cr_assert(eq(int, r, LINK_ECORRUPT), "%s", breaches[i].what);
        cr_assert(eq(int, items, breaches[i].items), "%s", breaches[i].what);
        atomic_store(&door.consumer.memory.page->head, 0);
        link_consumer_begin(&door.consumer);
        cr_assert(eq(int, link_consumer_next(&door.consumer, &item), LINK_ECORRUPT));
        cr_assert(link_consumer_rest(&door.consumer, LINK_ASLEEP));
        door_close(&door);
        door_open(&door);
    }
}

Test(link_corrupt, a_head_that_goes_back_is_found_also_inside_what_is_not_consumed)
{
    struct link_item item;
    struct slice part = slice_of("0123456789");
    for (int i = 0; i < 3; i++) {
        link_producer_write(&door.producer, LINK_STREAM, 1, &part, 1, NULL);
    }
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(eq(int, door_next(&door, &item), 1));
    atomic_store(&door.consumer.memory.page->head, 64);
    link_consumer_begin(&door.consumer);
    cr_assert(eq(int, link_consumer_next(&door.consumer, &item), LINK_ECORRUPT));
}

Test(link_corrupt, a_payload_that_is_parsed_cannot_change_any_more)
{
    struct link_item item;
    struct slice part = slice_of("0123456789");
    cr_assert(eq(int, link_producer_write(&door.producer, LINK_PUBLISH, 1, &part, 1, NULL), 0));
    cr_assert(eq(int, door_next(&door, &item), 1));
    memset(door.producer.memory.ring, 0xff, 4096);
    cr_assert(slice_is(item.payload, "0123456789"));
}

Test(link_corrupt, a_memory_that_is_not_sealed_or_not_ours_is_not_mapped)
{
    struct link_memory memory;
    int fds[2];
    cr_assert(eq(int, pipe(fds), 0));
    cr_assert(eq(int, link_memory_map(fds[0], &memory), LINK_ECORRUPT));
    cr_assert(lt(int, link_memory_map(-1, &memory), 0));
    struct link_fds copy = door.fds;
    atomic_thread_fence(memory_order_seq_cst);
    door.consumer.memory.page->version = LINK_VERSION + 1;
    struct link_producer producer;
    cr_assert(eq(int, link_producer_init(&producer, &copy), LINK_ECORRUPT));
}
