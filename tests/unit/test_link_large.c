/* Large payloads: by memfd, split where there is none, and memfds that nobody may trust. */

#include "test_link_door.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bridge/link_outgoing.h"

enum { SIZE = 9 << 20 }; /* more than the ring holds */

static struct door door;
static uint8_t *bytes;

static void open_door(void)
{
    door_open(&door);
    bytes = malloc(SIZE);
    fill_pattern(bytes, SIZE, 3);
}
static void shut_door(void)
{
    free(bytes);
    door_close(&door);
}
TestSuite(link_large, .init = open_door, .fini = shut_door, .timeout = 60);

static int result = 1;

static void *write_large(void *unused)
{
    (void)unused;
    struct slice parts[4] = {
        {bytes, 5}, {NULL, 0}, {bytes + 5, SIZE / 2}, {bytes + 5 + SIZE / 2, SIZE / 2 - 5}};
    result = link_producer_write(&door.producer, LINK_PUBLISH, 4, parts, 4, NULL);
    return NULL;
}

/* Only the soft limit, so that it can be given back: Criterion needs fds, too. */
static void limit_fds(rlim_t soft)
{
    struct rlimit limit;
    cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
}

Test(link_large, a_large_payload_comes_in_a_mapping_that_outlives_the_item)
{
    struct link_item item;
    write_large(NULL);
    cr_assert(eq(int, result, 0));
    cr_assert(eq(u64, atomic_load(&door.consumer.memory.page->head), 32));
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(item.mapping != NULL);
    struct link_mapping *kept = link_mapping_ref(item.mapping);
    struct slice payload = item.payload;
    cr_assert(eq(int, door_next(&door, &item), 0));
    cr_assert(eq(sz, payload.n, SIZE));
    cr_assert(has_pattern(payload, 3));
    link_mapping_unref(kept);
    link_mapping_unref(NULL);
}

Test(link_large, a_payload_just_above_the_limit_is_large_and_at_the_limit_is_not)
{
    struct link_item item;
    struct slice part = {bytes, LINK_RECORD_MAX};
    link_producer_write(&door.producer, LINK_STREAM, 1, &part, 1, NULL);
    part.n++;
    link_producer_write(&door.producer, LINK_STREAM, 2, &part, 1, NULL);
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(item.mapping == NULL);
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(item.mapping != NULL);
    cr_assert(has_pattern(item.payload, 3));
}

Test(link_large, a_payload_from_the_ring_that_is_not_small_outlives_the_item)
{
    const size_t sizes[] = {1000, 200000};
    for (size_t i = 0; i < 2; i++) {
        struct link_item item;
        struct slice part = {bytes, sizes[i]};
        link_producer_write(&door.producer, LINK_PUBLISH, 1, &part, 1, NULL);
        cr_assert(eq(int, door_next(&door, &item), 1));
        cr_assert(eq(int, item.mapping != NULL, i == 1));
        struct slice payload = item.payload;
        struct link_mapping *kept = i == 1 ? link_mapping_ref(item.mapping) : NULL;
        part.n = 1;
        link_producer_write(&door.producer, LINK_PUBLISH, 2, &part, 1, NULL);
        cr_assert(eq(int, door_next(&door, &item), 1));
        cr_assert(eq(sz, item.payload.n, 1));
        cr_assert(kept == NULL || has_pattern(payload, 3));
        link_mapping_unref(kept);
    }
}

Test(link_large, without_fds_a_payload_larger_than_the_ring_comes_in_records)
{
    pthread_t thread;
    struct link_item item;
    limit_fds(0);
    pthread_create(&thread, NULL, write_large, NULL);
    while (atomic_load(&door.consumer.memory.page->producer_waits) == 0) {
        cr_assert(eq(u64, atomic_load(&door.consumer.memory.page->tail), 0));
    }
    int r;
    do {
        r = door_next(&door, &item);
    } while (r == 0);
    pthread_join(thread, NULL);
    limit_fds(1024);
    cr_assert(eq(int, r, 1));
    cr_assert(eq(int, result, 0));
    cr_assert(eq(sz, item.payload.n, SIZE));
    cr_assert(has_pattern(item.payload, 3));
    cr_assert(eq(u64, item.request, 4));
    cr_assert(eq(int, (int)item.kind, LINK_PUBLISH));
}

Test(link_large, a_memfd_finds_a_place_in_a_kernel_whose_fds_are_all_in_use)
{
    struct link_item item;
    int last = -1, fd;
    write_large(NULL);
    write_large(NULL);
    limit_fds(256);
    while ((fd = dup(door.consumer.bell)) >= 0) {
        last = fd;
    }
    cr_assert(last >= 0 && errno == EMFILE);
    for (int i = 0; i < 2; i++) {
        int r = door_next(&door, &item);
        cr_assert(eq(int, r, 1));
        cr_assert(has_pattern(item.payload, 3));
    }
    limit_fds(1024);
}

Test(link_large, where_the_socket_is_full_of_memfds_the_rest_comes_in_records)
{
    struct link_item item;
    struct slice part = {bytes, LINK_RECORD_MAX + 1};
    int split = 0;
    uint64_t written = 0;
    while (split == 0) { /* two mebibytes of ring for a split one: there is room for one */
        written++;
        uint64_t before = atomic_load(&door.consumer.memory.page->head);
        cr_assert(
            eq(int, link_producer_write(&door.producer, LINK_STREAM, written, &part, 1, NULL), 0));
        split += atomic_load(&door.consumer.memory.page->head) - before > 32;
    }
    for (uint64_t i = 1; i <= written; i++) {
        cr_assert(eq(int, door_next(&door, &item), 1));
        cr_assert(eq(u64, item.request, i));
        cr_assert(eq(sz, item.payload.n, part.n));
        cr_assert(has_pattern(item.payload, 3));
    }
}

/* ---- what the kernel refuses -------------------------------------------------------- */

enum { REFUSED = 1 << 16 };

struct offer {
    const char *what;
    int seals;       /* of the memfd; -1: none are possible */
    uint64_t serial; /* sent with it */
    uint64_t named;  /* by the record */
    uint64_t size;   /* by the record */
    int fds;         /* how many come with the serial */
    size_t bytes;    /* of the serial that are sent */
};

#define ALL (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
static const struct offer offers[] = {
    {"no seals", 0, 1, 1, REFUSED, 1, 8},
    {"may be written", F_SEAL_SHRINK | F_SEAL_GROW, 1, 1, REFUSED, 1, 8},
    {"may shrink", F_SEAL_GROW | F_SEAL_WRITE, 1, 1, REFUSED, 1, 8},
    {"may grow", F_SEAL_SHRINK | F_SEAL_WRITE, 1, 1, REFUSED, 1, 8},
    {"is no memfd", -1, 1, 1, REFUSED, 1, 8},
    {"is smaller than it says", ALL, 1, 1, REFUSED + 1, 1, 8},
    {"is larger than it says", ALL, 1, 1, REFUSED - 1, 1, 8},
    {"says it is empty", ALL, 1, 1, 0, 1, 8},
    {"says it is huge", ALL, 1, 1, UINT64_MAX, 1, 8},
    {"skips a serial", ALL, 2, 2, REFUSED, 1, 8},
    {"is called otherwise", ALL, 2, 1, REFUSED, 1, 8},
    {"has no fd", ALL, 1, 1, REFUSED, 0, 8},
    {"has two fds", ALL, 1, 1, REFUSED, 2, 8},
    {"has three fds", ALL, 1, 1, REFUSED, 3, 8},
    {"is cut short", ALL, 1, 1, REFUSED, 1, 5},
    {"was never sent", ALL, 1, 1, REFUSED, 0, 0},
};

static void send_fds(const struct offer *offer, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control = {.room = {0}};
    uint64_t serial = offer->serial;
    struct iovec iov = {&serial, offer->bytes};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    const int fds[3] = {fd, fd, fd};
    if (offer->fds > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)offer->fds * sizeof fd);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN((size_t)offer->fds * sizeof fd);
        memcpy(CMSG_DATA(&control.header), fds, (size_t)offer->fds * sizeof fd);
    }
    if (offer->bytes > 0) {
        cr_assert_gt(sendmsg(door.fds.request, &message, 0), 0);
    }
}

static int make_offer(const struct offer *offer)
{
    int pipe_fds[2];
    if (offer->seals < 0) {
        cr_assert(eq(int, pipe(pipe_fds), 0));
        close(pipe_fds[1]);
        return pipe_fds[0];
    }
    int fd = memfd_create("offer", MFD_ALLOW_SEALING);
    cr_assert(eq(int, ftruncate(fd, REFUSED), 0));
    cr_assert(eq(int, fcntl(fd, F_ADD_SEALS, offer->seals), 0));
    return fd;
}

static int lowest_fd(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

Test(link_large, a_memfd_that_could_change_or_is_not_what_it_says_is_refused)
{
    for (size_t i = 0; i < sizeof offers / sizeof offers[0]; i++) {
        struct door other;
        struct door first = door;
        door_open(&other);
        door = other;
        int lowest = lowest_fd();
        struct link_item item;
        int fd = make_offer(&offers[i]);
        send_fds(&offers[i], fd);
        close(fd);
        const struct link_record record = {LINK_PUBLISH | LINK_LARGE, sizeof(struct link_large), 1};
        const struct link_large large = {offers[i].named, offers[i].size};
        memcpy(door.consumer.memory.ring, &record, sizeof record);
        memcpy(door.consumer.memory.ring + sizeof record, &large, sizeof large);
        atomic_store(&door.consumer.memory.page->head, 32);
        cr_assert(eq(int, door_next(&door, &item), LINK_ECORRUPT), "%s", offers[i].what);
        cr_assert(eq(int, lowest_fd(), lowest), "%s: an fd leaked", offers[i].what);
        door_close(&door);
        door = first;
    }
}
