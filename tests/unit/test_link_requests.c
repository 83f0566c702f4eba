/* Requests: the kernel's queue, the worker's reader, and who waits for what. */

#include "test_link_door.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bridge/link_passing.h"

static struct door door;
static struct link_sender sender;
static struct link_reader reader;

static void open_door(void)
{
    door_open(&door);
    link_sender_init(&sender, &door.consumer);
    cr_assert(eq(int, link_reader_init(&reader, &door.producer), 0));
}
static void shut_door(void)
{
    link_sender_release(&sender);
    link_reader_release(&reader);
    door_close(&door);
}
TestSuite(link_requests, .init = open_door, .fini = shut_door, .timeout = 60);

static void send_text(enum link_request_kind kind, uint64_t number, const char *text)
{
    struct slice part = slice_of(text);
    cr_assert(eq(int, link_sender_put(&sender, kind, 0, number, &part, 1), 0));
}

static void expect(enum link_request_kind kind, uint64_t number, const char *text)
{
    struct link_request *request = NULL;
    cr_assert(eq(int, link_reader_wait(&reader, kind, number, NULL, &request), 0));
    cr_assert(eq(int, (int)request->kind, (int)kind));
    cr_assert(slice_is(request->parts.part[0], text));
    link_request_destroy(&request);
    cr_assert(request == NULL);
    link_request_destroy(&request);
}

static int ask(enum link_request_kind kind, uint64_t number)
{
    struct link_request *request = NULL;
    int r = link_reader_poll(&reader, kind, number, &request);
    link_request_destroy(&request);
    return r;
}

Test(link_requests, a_request_comes_as_it_was_put)
{
    struct slice parts[4] = {slice_of("execute_request"), {NULL, 0}, slice_of("{}"), slice_of("x")};
    struct link_request *request = NULL;
    cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 17, 42, parts, 4), 0));
    cr_assert(eq(sz, link_sender_queued(&sender), 0));
    cr_assert(eq(int, link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request), 0));
    cr_assert(eq(u32, request->count, 17));
    cr_assert(eq(u64, request->number, 42));
    cr_assert(eq(sz, request->parts.count, 4));
    for (size_t i = 0; i < 4; i++) {
        cr_assert(slice_equal(request->parts.part[i], parts[i]));
    }
    link_request_destroy(&request);
    cr_assert(eq(int, ask(LINK_SHELL, 0), -EAGAIN));
}

Test(link_requests, each_kind_keeps_its_order_and_overtakes_the_others)
{
    send_text(LINK_SHELL, 1, "s1");
    send_text(LINK_COMM, 2, "c1");
    send_text(LINK_SHELL, 3, "s2");
    send_text(LINK_URGENT, 4, "u1");
    send_text(LINK_ANSWER, 5, "a5");
    send_text(LINK_ANSWER, 6, "a6");
    send_text(LINK_COMM, 7, "c2");
    expect(LINK_ANSWER, 6, "a6");
    expect(LINK_URGENT, 0, "u1");
    expect(LINK_ANSWER, 5, "a5");
    expect(LINK_COMM, 0, "c1");
    expect(LINK_COMM, 0, "c2");
    expect(LINK_SHELL, 0, "s1");
    expect(LINK_SHELL, 0, "s2");
    send_text(LINK_SHELL, 8, "s3"); /* the queue's end is still its end */
    expect(LINK_SHELL, 0, "s3");
}

Test(link_requests, next_is_a_comm_or_else_a_shell_request)
{
    send_text(LINK_SHELL, 1, "s1");
    send_text(LINK_URGENT, 2, "u1");
    send_text(LINK_COMM, 3, "c1");
    send_text(LINK_COMM, 4, "c2");
    cr_assert(eq(int, ask(LINK_ANSWER, 9), -EAGAIN)); /* all is filed now */
    for (uint64_t number = 3; number <= 5; number++) {
        struct link_request *request = NULL;
        cr_assert(eq(int, link_reader_poll(&reader, LINK_NEXT, 0, &request), 0));
        cr_assert(eq(u64, request->number, number == 5 ? 1 : number));
        link_request_destroy(&request);
    }
    cr_assert(eq(int, ask(LINK_NEXT, 0), -EAGAIN));
    send_text(LINK_SHELL, 6, "s2"); /* this one does not go by a queue */
    cr_assert(eq(int, ask(LINK_NEXT, 0), 0));
    cr_assert(eq(int, ask(LINK_URGENT, 0), 0));
}

Test(link_requests, the_page_tells_the_last_comm_that_is_on_its_way)
{
    struct link_page *page = door.consumer.memory.page;
    static char large[LINK_STREAM_MAX + 1];
    struct slice too_much[LINK_PARTS_MAX + 1] = {{NULL, 0}};
    struct slice part = {(const uint8_t *)large, sizeof large};
    send_text(LINK_SHELL, 1, "s");
    cr_assert(eq(u64, atomic_load(&page->comm_last), 0));
    send_text(LINK_COMM, 2, "c");
    cr_assert(eq(u64, atomic_load(&page->comm_last), 2));
    cr_assert(eq(int, link_sender_put(&sender, LINK_COMM, 0, 3, &part, 1), 0));
    cr_assert(eq(u64, atomic_load(&page->comm_last), 3), "also one that went by the area");
    cr_assert(eq(int, link_sender_put(&sender, LINK_COMM, 0, 4, too_much, LINK_PARTS_MAX + 1),
                 -EMSGSIZE));
    cr_assert(eq(u64, atomic_load(&page->comm_last), 3), "this one was not sent");
}

Test(link_requests, the_end_is_seen_behind_what_was_filed_before_it)
{
    cr_assert_not(link_reader_has_ended(&reader));
    send_text(LINK_COMM, 1, "c1");
    send_text(LINK_SHELL, 2, "s1");
    cr_assert_not(link_reader_has_ended(&reader));
    link_sender_close(&sender);
    cr_assert(link_reader_has_ended(&reader));
    cr_assert(link_reader_has_ended(&reader));
    expect(LINK_COMM, 0, "c1");
    expect(LINK_SHELL, 0, "s1");
    cr_assert(eq(int, ask(LINK_NEXT, 0), LINK_ECLOSED));
}

Test(link_requests, forgotten_answers_are_dropped_before_and_after_they_come)
{
    send_text(LINK_ANSWER, 1, "early");
    send_text(LINK_SHELL, 1, "a shell request of the same number stays");
    cr_assert(eq(int, ask(LINK_URGENT, 0), -EAGAIN)); /* all is filed now */
    link_reader_forget(&reader, 1);
    link_reader_forget(&reader, 2);
    send_text(LINK_ANSWER, 2, "late");
    send_text(LINK_ANSWER, 3, "wanted");
    expect(LINK_ANSWER, 3, "wanted");
    cr_assert(reader.queue[LINK_ANSWER] == NULL);
    expect(LINK_SHELL, 0, "a shell request of the same number stays");
}

Test(link_requests, what_came_before_the_end_is_handed_out_then_the_end)
{
    send_text(LINK_SHELL, 1, "last");
    link_sender_close(&sender);
    expect(LINK_SHELL, 0, "last");
    cr_assert(eq(int, ask(LINK_SHELL, 0), LINK_ECLOSED));
    cr_assert(eq(int, ask(LINK_ANSWER, 1), LINK_ECLOSED));
    struct link_request *request = NULL;
    cr_assert(eq(int, link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request), LINK_ECLOSED));
}

static const struct {
    const char *what;
    struct link_request_header header;
    int result;
} headers[] = {
    {"kind zero", {0, 0, 1, 8}, LINK_ECORRUPT},
    {"kind unknown", {LINK_REQUEST_END, 0, 1, 8}, LINK_ECORRUPT},
    {"number zero", {LINK_SHELL, 0, 0, 8}, LINK_ECORRUPT},
    {"a flag unknown", {LINK_SHELL | LINK_MORE, 0, 1, 8}, LINK_ECORRUPT},
    {"a memfd that did not come", {LINK_SHELL | LINK_LARGE, 0, 1, 8}, LINK_ECORRUPT},
    {"in the area, no parts", {LINK_SHELL | LINK_AREA, 0, 1, 8}, 0},
    {"in the area, not parts", {LINK_SHELL | LINK_AREA, 0, 1, 9}, LINK_ECORRUPT},
    {"beyond the area", {LINK_SHELL | LINK_AREA, 0, 1, LINK_PAYLOAD_MAX}, LINK_ECORRUPT},
    {"in two places", {LINK_SHELL | LINK_AREA | LINK_LARGE, 0, 1, 8}, LINK_ECORRUPT},
    {"no payload", {LINK_SHELL, 0, 1, 0}, LINK_ECORRUPT},
    {"too much payload", {LINK_SHELL, 0, 1, LINK_PAYLOAD_MAX + 1}, LINK_ECORRUPT},
    {"payload that is no parts", {LINK_SHELL, 0, 1, 4}, LINK_ECORRUPT},
    {"the end inside a payload", {LINK_SHELL, 0, 1, 9}, LINK_ECLOSED},
};

Test(link_requests, a_request_that_is_none_ends_the_reading)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        const uint64_t payload = 0;
        cr_assert(eq(int, (int)write(door.consumer.request, &headers[i].header, 24), 24));
        cr_assert(eq(int, (int)write(door.consumer.request, &payload, 8), 8));
        shutdown(door.consumer.request, SHUT_WR);
        cr_assert(eq(int, ask(LINK_SHELL, 0), headers[i].result), "%s", headers[i].what);
        int after = headers[i].result != 0 ? headers[i].result : LINK_ECLOSED;
        cr_assert(eq(int, ask(LINK_COMM, 0), after), "%s", headers[i].what);
        shut_door();
        open_door();
    }
}

Test(link_requests, a_sender_to_a_dead_worker_says_so)
{
    struct slice part = slice_of("x");
    link_producer_release(&door.producer);
    cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, 1, &part, 1), -EPIPE));
}

Test(link_requests, a_request_that_is_too_large_is_refused_whole)
{
    static struct slice many[LINK_PARTS_MAX + 1];
    struct slice huge = {(const uint8_t *)"", LINK_PAYLOAD_MAX};
    cr_assert(
        eq(int, link_sender_put(&sender, LINK_SHELL, 0, 1, many, LINK_PARTS_MAX + 1), -EMSGSIZE));
    cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, 1, &huge, 1), -EMSGSIZE));
    cr_assert(eq(sz, link_sender_queued(&sender), 0));
    cr_assert(eq(int, ask(LINK_SHELL, 0), -EAGAIN));
}

/* ---- large ones, by the area and in memfds --------------------------------------------- */

enum { AREA_SIZE = 300000, LARGE_SIZE = LINK_AREA_SIZE };

static uint64_t area_taken(void)
{
    return atomic_load(&door.consumer.memory.page->area_taken);
}

/* Only the soft limit, so that it can be given back: Criterion needs fds, too. */
static void limit_fds(rlim_t soft)
{
    struct rlimit limit;
    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
}

/* A request with a text and a pattern of that length. */
static void put_pattern(uint64_t number, size_t n)
{
    uint8_t *bytes = malloc(n);
    const struct slice parts[2] = {slice_of("odd"), {bytes, n}};
    fill_pattern(bytes, n, number);
    cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, number, parts, 2), 0));
    free(bytes);
}

static struct link_request *take_pattern(uint64_t number, size_t n)
{
    struct link_request *request = NULL;
    cr_assert(eq(int, link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request), 0));
    cr_assert(eq(u64, request->number, number));
    cr_assert(eq(int, request->error, 0));
    cr_assert(eq(sz, request->parts.count, 2));
    cr_assert(slice_is(request->parts.part[0], "odd"));
    cr_assert(eq(sz, request->parts.part[1].n, n));
    cr_assert(has_pattern(request->parts.part[1], number));
    return request;
}

Test(link_requests, a_large_one_lies_in_a_mapping_that_outlives_it)
{
    const size_t sizes[] = {AREA_SIZE, LARGE_SIZE, AREA_SIZE};
    for (uint64_t i = 0; i < 3; i++) {
        put_pattern(7 + i, sizes[i]);
        cr_assert(eq(sz, link_sender_queued(&sender), 0)); /* more than the socket takes */
        struct link_request *request = take_pattern(7 + i, sizes[i]);
        cr_assert(request->mapping != NULL);
        struct link_mapping *kept = link_mapping_ref(request->mapping);
        struct slice longest = request->parts.part[1];
        cr_assert(eq(sz, (uintptr_t)longest.p % alignof(max_align_t), 0));
        link_request_destroy(&request);
        put_pattern(100, sizes[i]); /* the next one does not write over it */
        request = take_pattern(100, sizes[i]);
        cr_assert(has_pattern(longest, 7 + i));
        link_request_destroy(&request);
        link_mapping_unref(kept);
    }
    cr_assert(eq(u64, area_taken(), 4));
}

Test(link_requests, while_one_is_in_the_area_the_next_comes_otherwise)
{
    for (uint64_t turn = 0; turn < 3; turn++) {
        put_pattern(1, AREA_SIZE);
        put_pattern(2, AREA_SIZE);
        cr_assert(eq(u64, sender.area_placed, turn + 1));
        for (uint64_t i = 1; i <= 2; i++) {
            struct link_request *request = take_pattern(i, AREA_SIZE);
            link_request_destroy(&request);
        }
        cr_assert(eq(u64, area_taken(), turn + 1));
    }
}

Test(link_requests, the_area_takes_what_fits_and_no_byte_more)
{
    /* What stands before it is made a multiple of 64 by the padding. */
    const size_t fits = LINK_AREA_SIZE - LINK_PART_ALIGN;
    put_pattern(1, fits);
    struct link_request *request = take_pattern(1, fits);
    cr_assert(eq(u64, area_taken(), 1));
    link_request_destroy(&request);
    put_pattern(2, fits + 1);
    request = take_pattern(2, fits + 1);
    cr_assert(eq(u64, area_taken(), 1));
    link_request_destroy(&request);
}

Test(link_requests, one_just_above_the_limit_is_large_and_at_the_limit_is_not)
{
    enum { FRAME = 8 + 2 * 8 + 3 }; /* and the text */
    put_pattern(1, LINK_STREAM_MAX - FRAME);
    struct link_request *request = take_pattern(1, LINK_STREAM_MAX - FRAME);
    cr_assert(request->mapping == NULL);
    link_request_destroy(&request);
    put_pattern(2, LINK_STREAM_MAX - FRAME + 1);
    request = take_pattern(2, LINK_STREAM_MAX - FRAME + 1);
    cr_assert(request->mapping != NULL);
    link_request_destroy(&request);
}

Test(link_requests, a_large_one_does_not_overtake_what_is_queued)
{
    static uint8_t bytes[LINK_STREAM_MAX / 2];
    struct slice part = {bytes, sizeof bytes};
    uint64_t last = 0;
    while (link_sender_queued(&sender) == 0) {
        cr_assert(eq(int, link_sender_put(&sender, LINK_COMM, 0, ++last, &part, 1), 0));
    }
    struct link_request *request = NULL;
    cr_assert(
        eq(int, link_reader_poll(&reader, LINK_COMM, 0, &request), 0)); /* there is room now */
    link_request_destroy(&request);
    put_pattern(last + 1, AREA_SIZE);
    cr_assert_gt(link_sender_queued(&sender), AREA_SIZE / 2);
    for (uint64_t i = 2; i <= last;) {
        int r = link_reader_poll(&reader, LINK_COMM, 0, &request);
        cr_assert(r == 0 || r == -EAGAIN);
        if (r == 0) {
            cr_assert(eq(u64, request->number, i++));
            link_request_destroy(&request);
        }
        cr_assert(eq(int, link_sender_flush(&sender), 0));
    }
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        r = link_reader_poll(&reader, LINK_SHELL, 0, &request);
        cr_assert(eq(int, link_sender_flush(&sender), 0));
    }
    cr_assert(eq(int, r, 0));
    cr_assert(request->mapping == NULL);
    cr_assert(has_pattern(request->parts.part[1], last + 1));
    link_request_destroy(&request);
}

Test(link_requests, a_worker_without_room_for_an_fd_loses_that_request_only)
{
    struct link_request *request = NULL;
    put_pattern(1, LARGE_SIZE);
    send_text(LINK_SHELL, 2, "small");
    limit_fds(0);
    int r = link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request);
    limit_fds(1024);
    cr_assert(eq(int, r, 0));
    cr_assert(eq(u64, request->number, 1));
    cr_assert(eq(int, request->error, -EMFILE));
    cr_assert(eq(sz, request->parts.count, 0));
    link_request_destroy(&request);
    expect(LINK_SHELL, 2, "small");
    put_pattern(3, LARGE_SIZE);
    request = take_pattern(3, LARGE_SIZE);
    link_request_destroy(&request);
}

static size_t lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t lines = 0;
    cr_assert(file != NULL);
    for (int c = getc(file); c != EOF; c = getc(file)) {
        lines += c == '\n';
    }
    (void)fclose(file);
    return lines;
}

static size_t open_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t entries = 0;
    cr_assert(directory != NULL);
    while (readdir(directory) != NULL) {
        entries++;
    }
    (void)closedir(directory);
    return entries;
}

Test(link_requests, ten_thousand_large_ones_leave_no_fd_and_no_mapping)
{
    static uint8_t bytes[LINK_STREAM_MAX + 1];
    const struct slice part = {bytes, sizeof bytes};
    size_t mappings = 0, fds = 0;
    sender.area_placed = UINT64_MAX; /* never free */
    for (uint64_t i = 1; i <= 10000; i++) {
        struct link_request *request = NULL;
        cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, i, &part, 1), 0));
        cr_assert(eq(int, link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request), 0));
        cr_assert(request->mapping != NULL);
        link_request_destroy(&request);
        if (i == 100) { /* what there is to be made once is made */
            mappings = lines_of("/proc/self/maps");
            fds = open_fds();
        }
    }
    cr_assert(eq(sz, lines_of("/proc/self/maps"), mappings));
    cr_assert(eq(sz, open_fds(), fds));
}

#define ALL (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
static const struct offer {
    const char *what;
    int seals;       /* of the memfd, which has eight bytes: no parts */
    uint32_t kind;   /* of the request */
    uint64_t length; /* by the header */
    size_t first;    /* bytes of the header that come with the memfd */
    bool again;      /* the rest comes with it, too */
    int result;
} offers[] = {
    {"as it should be", ALL, LINK_SHELL | LINK_LARGE, 8, 24, false, 0},
    {"in two pieces", ALL, LINK_SHELL | LINK_LARGE, 8, 5, false, 0},
    {"two memfds", ALL, LINK_SHELL | LINK_LARGE, 8, 5, true, LINK_ECORRUPT},
    {"not asked for", ALL, LINK_SHELL, 8, 24, false, LINK_ECORRUPT},
    {"may be written", F_SEAL_SHRINK | F_SEAL_GROW, LINK_SHELL | LINK_LARGE, 8, 24, false,
     LINK_ECORRUPT},
    {"may shrink", F_SEAL_GROW | F_SEAL_WRITE, LINK_SHELL | LINK_LARGE, 8, 24, false,
     LINK_ECORRUPT},
    {"smaller than it says", ALL, LINK_SHELL | LINK_LARGE, 9, 24, false, LINK_ECORRUPT},
    {"larger than it says", ALL, LINK_SHELL | LINK_LARGE, 7, 24, false, LINK_ECORRUPT},
};

Test(link_requests, a_memfd_that_could_change_or_is_not_what_it_says_ends_the_reading)
{
    for (size_t i = 0; i < sizeof offers / sizeof offers[0]; i++) {
        const struct offer *offer = &offers[i];
        const struct link_request_header header = {offer->kind, 0, 1, offer->length};
        const uint8_t *bytes = (const uint8_t *)&header;
        const struct slice rest = {bytes + offer->first, sizeof header - offer->first};
        size_t fds = open_fds();
        int fd = memfd_create("offer", MFD_ALLOW_SEALING);
        cr_assert(eq(int, ftruncate(fd, 8), 0));
        cr_assert(eq(int, fcntl(fd, F_ADD_SEALS, offer->seals), 0));
        cr_assert(
            eq(int, link_passing_send(sender.fd, fd, (struct slice){bytes, offer->first}), 0));
        if (offer->again) {
            cr_assert(eq(int, link_passing_send(sender.fd, fd, rest), 0));
        } else {
            cr_assert(eq(int, (int)write(sender.fd, rest.p, rest.n), (int)rest.n));
        }
        cr_assert(eq(int, (int)write(sender.fd, "\0\0\0\0\0\0\0", 8), 8)); /* no parts */
        close(fd);
        cr_assert(eq(int, ask(LINK_SHELL, 0), offer->result), "%s", offer->what);
        cr_assert(eq(sz, open_fds(), fds), "%s: an fd leaked", offer->what);
        shut_door();
        open_door();
    }
}

/* ---- a worker that does not read ----------------------------------------------------- */

static void flush_when_writable(void)
{
    struct pollfd fd = {.fd = sender.fd, .events = POLLOUT};
    cr_assert(eq(int, poll(&fd, 1, 20000), 1));
    cr_assert(eq(int, link_sender_flush(&sender), 0));
}

static void *read_three(void *ret)
{
    for (uint64_t i = 1; i <= 3; i++) {
        struct link_request *request = NULL;
        if (link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request) != 0 || request->number != i ||
            !has_pattern(request->parts.part[0], i)) {
            return ret;
        }
        link_request_destroy(&request);
    }
    return NULL;
}

Test(link_requests, huge_requests_queue_without_blocking_and_arrive_whole)
{
    enum { HUGE_SIZE = 20 << 20 };
    uint8_t *bytes = malloc(HUGE_SIZE);
    pthread_t thread;
    void *failed = &door;
    limit_fds(0); /* no memfds either */
    for (uint64_t i = 1; i <= 3; i++) {
        struct slice part = {bytes, HUGE_SIZE - i};
        fill_pattern(bytes, HUGE_SIZE, i);
        cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, i, &part, 1), 0));
    }
    limit_fds(1024);
    cr_assert_gt(link_sender_queued(&sender), 2 * (size_t)HUGE_SIZE);
    link_sender_close(&sender); /* the end comes after them */
    pthread_create(&thread, NULL, read_three, &door);
    while (link_sender_queued(&sender) > 0) {
        flush_when_writable();
    }
    pthread_join(thread, &failed);
    cr_assert(failed == NULL);
    cr_assert(eq(int, ask(LINK_SHELL, 0), LINK_ECLOSED));
    free(bytes);
}

enum { BUSY_RECORDS = 20000, BUSY_REQUESTS = 400 };

/* Writes more than the ring holds before it reads its first request. */
static void *busy_worker(void *ret)
{
    static uint8_t bytes[1000];
    struct slice part = {bytes, sizeof bytes};
    for (uint64_t i = 1; i <= BUSY_RECORDS; i++) {
        if (link_producer_write(&door.producer, LINK_STREAM, i, &part, 1, NULL) != 0) {
            return ret;
        }
    }
    for (uint64_t i = 1; i <= BUSY_REQUESTS; i++) {
        struct link_request *request = NULL;
        if (link_reader_wait(&reader, LINK_SHELL, 0, NULL, &request) != 0 || request->number != i) {
            return ret;
        }
        link_request_destroy(&request);
    }
    return NULL;
}

Test(link_requests, a_full_socket_and_a_full_ring_do_not_wait_for_each_other)
{
    static uint8_t bytes[10000];
    struct slice part = {bytes, sizeof bytes};
    struct link_item item;
    pthread_t thread;
    void *failed = &door;
    pthread_create(&thread, NULL, busy_worker, &door);
    while (atomic_load(&door.consumer.memory.page->producer_waits) == 0) {
        sched_yield();
    }
    for (uint64_t i = 1; i <= BUSY_REQUESTS; i++) {
        cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, i, &part, 1), 0));
    }
    cr_assert_gt(link_sender_queued(&sender), 0);
    for (uint64_t i = 1; i <= BUSY_RECORDS; i++) {
        cr_assert(eq(int, door_wait(&door, &item), 1));
        cr_assert(eq(u64, item.request, i));
    }
    while (link_sender_queued(&sender) > 0) {
        flush_when_writable();
    }
    pthread_join(thread, &failed);
    cr_assert(failed == NULL);
}

/* ---- several threads wait --------------------------------------------------------- */

enum { WAITERS = 4, ANSWERS = 500 };

static void *wait_for_answers(void *p)
{
    uint64_t id = (uint64_t)(uintptr_t)p;
    for (uint64_t i = 0; i < ANSWERS; i++) {
        struct link_request *request = NULL;
        uint64_t number = 1 + i * WAITERS + id;
        if (link_reader_wait(&reader, LINK_ANSWER, number, NULL, &request) != 0 ||
            request->number != number) {
            return &reader;
        }
        link_request_destroy(&request);
    }
    return NULL;
}

Test(link_requests, waiting_threads_read_for_each_other)
{
    pthread_t thread[WAITERS];
    uint64_t random = 99;
    for (size_t i = 0; i < WAITERS; i++) {
        pthread_create(&thread[i], NULL, wait_for_answers, (void *)(uintptr_t)i);
    }
    for (uint64_t i = 0; i < ANSWERS; i++) {
        uint64_t first = random_next(&random) % WAITERS;
        for (uint64_t k = 0; k < WAITERS; k++) {
            send_text(LINK_ANSWER, 1 + i * WAITERS + (first + k) % WAITERS, "x");
        }
        while (link_sender_queued(&sender) > 0) {
            flush_when_writable();
        }
    }
    for (size_t i = 0; i < WAITERS; i++) {
        void *failed = &reader;
        pthread_join(thread[i], &failed);
        cr_assert(failed == NULL);
    }
}

Test(link_requests, the_end_wakes_everybody_who_waits)
{
    pthread_t thread[WAITERS];
    for (size_t i = 0; i < WAITERS; i++) {
        pthread_create(&thread[i], NULL, wait_for_answers, (void *)(uintptr_t)i);
    }
    link_sender_close(&sender);
    for (size_t i = 0; i < WAITERS; i++) {
        void *failed = NULL;
        pthread_join(thread[i], &failed);
        cr_assert(failed == &reader);
    }
}

/* ---- signals ------------------------------------------------------------------------- */

static _Atomic int released;
static _Atomic int give_up;
static _Atomic int ended;

static void *fake_release(void)
{
    atomic_fetch_add(&released, 1);
    return &released;
}
static int fake_resume(void *state, bool interrupted)
{
    (void)state;
    return interrupted && atomic_load(&give_up);
}
static const struct link_wait fake_wait = {fake_release, fake_resume};

static void *wait_interruptibly(void *ret)
{
    struct link_request *request = NULL;
    int *result = ret;
    *result = link_reader_wait(&reader, LINK_ANSWER, 1, &fake_wait, &request);
    link_request_destroy(&request);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static void no_op(int signal)
{
    (void)signal;
}

/* One of the two threads sleeps in poll, the other on the futex. */
Test(link_requests, a_signal_ends_both_kinds_of_sleep_if_a_handler_raised)
{
    pthread_t thread[2];
    int result[2] = {0, 0};
    struct sigaction action = {.sa_handler = no_op};
    sigaction(SIGUSR1, &action, NULL);
    for (size_t i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, wait_interruptibly, &result[i]);
    }
    for (int before = atomic_load(&released); atomic_load(&released) < before + 20;) {
        for (size_t i = 0; i < 2; i++) { /* nothing raised: they go on waiting */
            pthread_kill(thread[i], SIGUSR1);
        }
        sched_yield();
    }
    cr_assert(eq(int, atomic_load(&ended), 0));
    atomic_store(&give_up, 1);
    while (atomic_load(&ended) < 2) {
        for (size_t i = 0; i < 2; i++) {
            pthread_kill(thread[i], SIGUSR1);
        }
        sched_yield();
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        cr_assert(eq(int, result[i], LINK_EINTERRUPTED));
    }
    send_text(LINK_ANSWER, 1, "still readable");
    expect(LINK_ANSWER, 1, "still readable");
}

Test(link_requests, a_signal_inside_a_request_loses_no_byte_of_it)
{
    pthread_t thread;
    int result = 1;
    struct sigaction action = {.sa_handler = no_op};
    sigaction(SIGUSR1, &action, NULL);
    send_text(LINK_ANSWER, 1, "whole");
    uint8_t bytes[64];
    ssize_t n = recv(door.fds.request, bytes, sizeof bytes, 0); /* back in two pieces */
    cr_assert(eq(int, (int)write(door.consumer.request, bytes, 30), 30));
    pthread_create(&thread, NULL, wait_interruptibly, &result);
    for (int before = atomic_load(&released); atomic_load(&released) < before + 5;) {
        pthread_kill(thread, SIGUSR1);
        sched_yield();
    }
    cr_assert(eq(int, (int)write(door.consumer.request, bytes + 30, (size_t)n - 30), (int)n - 30));
    pthread_join(thread, NULL);
    cr_assert(eq(int, result, 0));
}
