/*
 * Fuzz target: the door as the other side could misuse it.
 *
 * The first byte chooses the side. Odd: the rest is what a kernel gone wild
 * sends to the worker's reader, and lies in the area; with a memfd, that has all behind the first
 * header, and comes with it. Even: the rest is laid into the ring, across
 * its end, as if a worker had written it. Bits of the first byte add a memfd
 * in the socket and text in the pipes. Whatever comes, the consumer's end is
 * items or LINK_ECORRUPT, the reader's end requests and an error.
 */

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/check.h"
#include "bridge/link.h"
#include "bridge/link_outgoing.h"
#include "bridge/link_passing.h"

enum {
    READER = 1,
    WITH_MEMFD = 2,
    WITH_TEXT = 4,
    TWO_ROUNDS = 8,
    WILD_HEAD = 16,
    BEFORE_THE_END = 64, /* bytes of the ring before records cross its end */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every byte, so that a sanitizer sees a wrong length. */
static void use(struct slice bytes)
{
    volatile uint8_t seen = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        seen = bytes.p[i];
    }
    (void)seen;
}

static void use_parts(struct slice payload)
{
    struct link_parts parts;
    if (link_parts_read(payload, &parts) == 0) {
        for (size_t i = 0; i < parts.count; i++) {
            use(parts.part[i]);
        }
    }
}

/* -> false: corrupt. */
static bool run_round(struct link_consumer *consumer)
{
    struct link_item item;
    int r;
    link_consumer_begin(consumer);
    while ((r = link_consumer_next(consumer, &item)) == 1) {
        CHECK(item.kind >= LINK_READY && item.kind < LINK_KIND_END && item.kind != LINK_SYNC);
        CHECK(item.payload.n <= LINK_PAYLOAD_MAX);
        CHECK(!item.from_pipe || (item.kind == LINK_STREAM && item.payload.n > 0));
        use(item.payload);
        use_parts(item.payload);
    }
    CHECK(r == 0 || r == LINK_ECORRUPT);
    CHECK(r != 0 || consumer->tail == consumer->head);
    return r == 0;
}

static void send_memfd(int socket, struct slice bytes, struct slice contents)
{
    const struct link_outgoing out = {.size = contents.n, .part = &contents, .count = 1};
    int fd = link_outgoing_memfd(&out);
    CHECK(fd >= 0 && link_passing_send(socket, fd, bytes) == 0);
    close(fd);
}

static void fuzz_consumer(uint8_t flags, const uint8_t *data, size_t size)
{
    struct link_consumer consumer;
    struct link_fds fds;
    int stdio[2];
    CHECK(link_consumer_init(&consumer, &fds, stdio) == 0);
    const uint64_t start = LINK_RING_SIZE - BEFORE_THE_END;
    consumer.tail = consumer.head = consumer.next_tail = start;
    size = size < LINK_RING_SIZE ? size : LINK_RING_SIZE;
    memcpy(consumer.memory.ring + start, data, size);
    if ((flags & WITH_MEMFD) != 0) {
        const uint64_t serial = 1;
        send_memfd(fds.request, (struct slice){(const uint8_t *)&serial, sizeof serial},
                   (struct slice){data, size});
    }
    if ((flags & WITH_TEXT) != 0) {
        CHECK(write(stdio[0], "fd one\n", 7) == 7 && write(stdio[1], "fd two\n", 7) == 7);
    }
    uint64_t end = start + (size & ~(size_t)(LINK_ALIGN - 1));
    if ((flags & WILD_HEAD) != 0 && size >= sizeof end) {
        memcpy(&end, data + size - sizeof end, sizeof end);
    }
    bool good = true;
    if ((flags & TWO_ROUNDS) != 0) {
        atomic_store(&consumer.memory.page->head, start + (size / 2 & ~(size_t)(LINK_ALIGN - 1)));
        good = run_round(&consumer);
    }
    atomic_store(&consumer.memory.page->head, end);
    bool still_good = run_round(&consumer);
    CHECK(good || !still_good);
    link_consumer_release(&consumer);
    link_fds_close(&fds);
    close(stdio[0]);
    close(stdio[1]);
}

static void fuzz_reader(uint8_t flags, const uint8_t *data, size_t size)
{
    static struct link_memory memory; /* made once: it is large */
    const size_t header = sizeof(struct link_request_header);
    struct link_producer door = {.owner = getpid()};
    int pair[2], fd;
    struct link_reader reader;
    if (memory.page == NULL) {
        CHECK(link_memory_create(&fd) == 0 && link_memory_map(fd, &memory) == 0);
        close(fd);
    }
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    memcpy(memory.area, data, size < LINK_AREA_SIZE ? size : LINK_AREA_SIZE);
    door.memory = memory;
    door.fds.request = pair[0];
    CHECK(link_reader_init(&reader, &door) == 0);
    link_reader_forget(&reader, 1);
    if ((flags & WITH_MEMFD) != 0 && size > header) {
        const struct slice contents = {data + header, size - header};
        send_memfd(pair[1], (struct slice){data, header}, contents);
        (void)!send(pair[1], contents.p, contents.n, MSG_DONTWAIT);
    } else {
        (void)!send(pair[1], data, size, MSG_DONTWAIT);
    }
    close(pair[1]);
    for (int kind = LINK_NEXT; kind < LINK_REQUEST_END; kind++) {
        struct link_request *request;
        int r;
        while ((r = link_reader_poll(&reader, (enum link_request_kind)kind, 0, &request)) == 0) {
            for (size_t i = 0; i < request->parts.count; i++) {
                use(request->parts.part[i]);
            }
            link_request_destroy(&request);
        }
        CHECK(r == LINK_ECLOSED || r == LINK_ECORRUPT);
    }
    link_reader_release(&reader);
    close(pair[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if ((data[0] & READER) != 0) {
        fuzz_reader(data[0], data + 1, size - 1);
    } else {
        fuzz_consumer(data[0], data + 1, size - 1);
    }
    return 0;
}
