/*
 * The order between the ring and both pipes. One thread of a worker writes
 * numbered items at random to the ring, fd 1 and fd 2, while the kernel's end
 * reads in all its moods. Ring items against each pipe must be exact; pipe
 * against pipe is not promised.
 */

#include "test_link_door.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { ITEMS = 200000, LINE_MAX_BYTES = 9000 };
static const uint64_t seed = 0x5eed2024;

static struct door door;

static size_t make_line(uint64_t *random, uint64_t number, char line[LINE_MAX_BYTES])
{
    size_t n = (size_t)snprintf(line, 32, "%llu ", (unsigned long long)number);
    uint64_t dice = random_next(random) % 100;
    size_t filling = dice < 3 ? 8000 : dice < 10 ? 500 : (size_t)(dice % 40);
    memset(line + n, 'x', filling);
    n += filling;
    line[n++] = '\n';
    return n;
}

static int write_pipe(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done <= 0) {
            return -1;
        }
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* A line in two records, as of print("…", end="") and what follows it. */
static int write_in_pieces(struct link_producer *producer, uint64_t number, const char *line,
                           size_t n)
{
    struct slice first = {(const uint8_t *)line, n - 1};
    struct slice second = {(const uint8_t *)line + n - 1, 1};
    int r = link_producer_write(producer, LINK_STREAM, number, &first, 1, NULL);
    return r != 0 ? r : link_producer_write(producer, LINK_STREAM, number, &second, 1, NULL);
}

static int work(void)
{
    static char line[LINE_MAX_BYTES];
    uint64_t random = seed;
    struct link_producer producer;
    int r = link_producer_init(&producer, &door.fds);
    for (uint64_t number = 1; r == 0 && number <= ITEMS; number++) {
        size_t n = make_line(&random, number, line);
        struct slice whole = {(const uint8_t *)line, n};
        uint64_t dice = random_next(&random) % 16;
        if (dice < 5) {
            r = write_pipe(door.stdio[0], line, n);
        } else if (dice < 9) {
            r = write_pipe(door.stdio[1], line, n);
        } else if (dice < 12) {
            r = link_producer_write(&producer, LINK_STREAM, number, &whole, 1, NULL);
        } else if (dice < 14) {
            r = write_in_pieces(&producer, number, line, n);
        } else {
            uint32_t kind = dice == 14 ? LINK_PUBLISH : LINK_DONE;
            r = link_producer_write_parts(&producer, kind, number, &whole, 1, NULL);
        }
    }
    return r;
}

/* What came, and what came in the wrong place. */
static struct {
    uint64_t ring;    /* the last number from the ring */
    uint64_t pipe[2]; /* the last number of a whole line from each pipe */
    char line[2][LINE_MAX_BYTES];
    size_t line_n[2];
    uint64_t items;
    uint64_t misplaced;
} seen;

static void see_ring_item(const struct link_item *item)
{
    bool again = item->kind == LINK_STREAM && item->request == seen.ring; /* the second piece */
    bool in_order = item->request > seen.ring || again;
    bool behind_pipes = item->request > seen.pipe[0] && item->request > seen.pipe[1];
    bool between_lines = seen.line_n[0] == 0 && seen.line_n[1] == 0;
    seen.misplaced += !(in_order && behind_pipes && between_lines);
    seen.ring = item->request;
    seen.items += !again;
}

static void see_pipe_bytes(const struct link_item *item)
{
    size_t i = item->is_stderr;
    for (size_t k = 0; k < item->payload.n; k++) {
        cr_assert(lt(sz, seen.line_n[i], LINE_MAX_BYTES));
        seen.line[i][seen.line_n[i]++] = (char)item->payload.p[k];
        if (item->payload.p[k] == '\n') {
            uint64_t number =
                number_of((struct slice){(const uint8_t *)seen.line[i], seen.line_n[i]});
            seen.misplaced += !(number > seen.ring && number > seen.pipe[i]);
            seen.pipe[i] = number;
            seen.line_n[i] = 0;
            seen.items++;
        }
    }
}

/* Sleeps as the kernel might: not at all, for a moment, or until something comes. */
static void rest(uint64_t mood)
{
    struct link_consumer *consumer = &door.consumer;
    bool dozing = mood % 3 == 1;
    if (mood % 3 == 0 || !link_consumer_rest(consumer, dozing ? LINK_DOZING : LINK_ASLEEP)) {
        return;
    }
    struct pollfd fds[3] = {
        {.fd = consumer->bell, .events = POLLIN},
        {.fd = consumer->text[0].ended ? -1 : consumer->pipe[0], .events = POLLIN},
        {.fd = consumer->text[1].ended ? -1 : consumer->pipe[1], .events = POLLIN}};
    cr_assert(ge(int, poll(fds, 3, dozing ? 1 : 20000), 0));
    link_consumer_hush(consumer);
}

TestSuite(link_order, .timeout = 120);

Test(link_order, random_items_of_ring_and_pipes_come_in_the_order_of_their_writing)
{
    uint64_t random = seed + 1;
    struct link_item item;
    door_open_half(&door);
    for (size_t i = 0; i < 2; i++) {
        /* More to read makes reading longer, so more is written meanwhile. */
        (void)fcntl(door.consumer.pipe[i], F_SETPIPE_SZ, 1 << 20);
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(work() == 0 ? 0 : 1);
    }
    close(door.stdio[0]);
    close(door.stdio[1]);
    while (seen.items < ITEMS) {
        link_consumer_begin(&door.consumer);
        int r;
        for (r = 1; r == 1;) {
            r = link_consumer_next(&door.consumer, &item);
            if (r == 1 && item.from_pipe) {
                see_pipe_bytes(&item);
            } else if (r == 1) {
                see_ring_item(&item);
            }
        }
        cr_assert(eq(int, r, 0));
        if (door.consumer.text[0].ended && door.consumer.text[1].ended) {
            break;
        }
        rest(random_next(&random));
    }
    int status = -1;
    waitpid(pid, &status, 0);
    cr_assert(eq(int, status, 0));
    cr_assert(eq(u64, seen.items, ITEMS), "seed %llu", (unsigned long long)seed);
    cr_assert(eq(u64, seen.misplaced, 0), "seed %llu", (unsigned long long)seed);
    link_fds_close(&door.fds);
    link_consumer_release(&door.consumer);
}
