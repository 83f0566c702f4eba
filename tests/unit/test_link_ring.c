/* The ring: wrapping, waiting, the bell, threads, forks and sudden ends of the producer. */

#include "test_link_door.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static struct door door;
static void open_door(void)
{
    door_open(&door);
}
static void shut_door(void)
{
    door_close(&door);
}
TestSuite(link_ring, .init = open_door, .fini = shut_door, .timeout = 60);

static int write_text(const char *text)
{
    struct slice part = slice_of(text);
    return link_producer_write(&door.producer, LINK_STREAM, 7, &part, 1, NULL);
}

/* ---- records ------------------------------------------------------------------ */

Test(link_ring, records_of_all_sizes_survive_many_turns_of_the_ring)
{
    static uint8_t bytes[LINK_RECORD_MAX];
    uint64_t random = 20240607;
    uint64_t sum = 0;
    for (uint64_t i = 1; sum < 8 * (uint64_t)LINK_RING_SIZE; i++) {
        size_t n = (size_t)(random_next(&random) % (i % 50 == 0 ? LINK_RECORD_MAX + 1 : 5000));
        uint32_t kind = i % 3 == 0   ? LINK_STREAM | LINK_STDERR
                        : i % 3 == 1 ? LINK_STREAM
                                     : LINK_ASK;
        fill_pattern(bytes, n, i);
        struct slice parts[2] = {{bytes, n / 3}, {bytes + n / 3, n - n / 3}};
        cr_assert(eq(int, link_producer_write(&door.producer, kind, i, parts, 2, NULL), 0));
        sum += n;
        struct link_item item;
        cr_assert(eq(int, door_next(&door, &item), 1));
        cr_assert(eq(sz, item.payload.n, n));
        cr_assert(has_pattern(item.payload, i));
        cr_assert(eq(u64, item.request, i));
        cr_assert(eq(int, (int)item.kind, (int)(kind & LINK_KIND_MASK)));
        cr_assert(eq(int, item.is_stderr, i % 3 == 0));
        cr_assert(eq(int, item.from_pipe, false));
    }
}

Test(link_ring, parts_come_back_as_they_were_framed)
{
    struct slice parts[3] = {slice_of("stream"), {NULL, 0}, slice_of("{\"a\":1}")};
    cr_assert(
        eq(int, link_producer_write_parts(&door.producer, LINK_PUBLISH, 9, parts, 3, NULL), 0));
    struct link_item item;
    struct link_parts back;
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(eq(int, link_parts_read(item.payload, &back), 0));
    cr_assert(eq(sz, back.count, 3));
    for (size_t i = 0; i < 3; i++) {
        cr_assert(slice_equal(back.part[i], parts[i]));
    }
    cr_assert(eq(int, door_next(&door, &item), 0));
}

Test(link_ring, too_many_parts_and_too_many_bytes_are_refused_whole)
{
    static struct slice many[LINK_PARTS_MAX + 1];
    struct slice huge[2] = {{(const uint8_t *)"", LINK_PAYLOAD_MAX}, {(const uint8_t *)"", 1}};
    struct link_item item;
    cr_assert(eq(
        int,
        link_producer_write_parts(&door.producer, LINK_PUBLISH, 1, many, LINK_PARTS_MAX + 1, NULL),
        -EMSGSIZE));
    cr_assert(
        eq(int, link_producer_write(&door.producer, LINK_STREAM, 1, huge, 2, NULL), -EMSGSIZE));
    cr_assert(eq(int, door_next(&door, &item), 0));
    cr_assert(eq(
        int, link_producer_write_parts(&door.producer, LINK_PUBLISH, 1, many, LINK_PARTS_MAX, NULL),
        0));
    cr_assert(eq(int, door_next(&door, &item), 1));
}

/* ---- a full ring ----------------------------------------------------------------- */

enum { FLOOD = 40000 };
static _Atomic int released;
static _Atomic int resumed;
static _Atomic int give_up;
static _Atomic int writer_result;
static _Atomic bool writer_done;

static void *fake_release(void)
{
    atomic_fetch_add(&released, 1);
    return &released;
}

static int fake_resume(void *state, bool interrupted)
{
    cr_assert(state == &released);
    atomic_fetch_add(&resumed, 1);
    return interrupted && atomic_load(&give_up) != 0;
}
static const struct link_wait fake_wait = {fake_release, fake_resume};

static void *flood(void *unused)
{
    (void)unused;
    char text[512];
    int r = 0;
    for (int i = 1; i <= FLOOD && r == 0; i++) {
        int n = snprintf(text, sizeof text, "%d %0*d", i, 100 + i % 300, 0);
        struct slice part = {(const uint8_t *)text, (size_t)n};
        r = link_producer_write(&door.producer, LINK_STREAM, (uint64_t)i, &part, 1, &fake_wait);
    }
    atomic_store(&writer_result, r);
    atomic_store(&writer_done, true);
    return NULL;
}

static void wait_until_the_writer_waits(void)
{
    while (atomic_load(&door.consumer.memory.page->producer_waits) == 0) {
        sched_yield();
    }
}

Test(link_ring, a_full_ring_blocks_the_writer_and_drops_nothing)
{
    pthread_t thread;
    struct link_item item;
    cr_assert(eq(int, pthread_create(&thread, NULL, flood, NULL), 0));
    wait_until_the_writer_waits();
    cr_assert(eq(int, door_bell_rang(&door), true));
    for (uint64_t i = 1; i <= FLOOD; i++) {
        cr_assert(eq(int, door_wait(&door, &item), 1));
        cr_assert(eq(u64, item.request, i));
        cr_assert(eq(u64, number_of(item.payload), i));
    }
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(int, atomic_load(&writer_result), 0));
    cr_assert_gt(atomic_load(&released), 0);
    cr_assert(eq(int, atomic_load(&released), atomic_load(&resumed)));
}

Test(link_ring, the_bell_rings_for_a_full_ring_even_while_the_kernel_dozes)
{
    pthread_t thread;
    struct link_item item;
    link_consumer_begin(&door.consumer);
    cr_assert(link_consumer_rest(&door.consumer, LINK_DOZING));
    cr_assert(eq(int, pthread_create(&thread, NULL, flood, NULL), 0));
    wait_until_the_writer_waits();
    struct pollfd fd = {.fd = door.consumer.bell, .events = POLLIN};
    cr_assert(eq(int, poll(&fd, 1, 20000), 1));
    for (int i = 0; i < FLOOD; i++) {
        cr_assert(eq(int, door_wait(&door, &item), 1));
    }
    pthread_join(thread, NULL);
}

static void no_op(int signal)
{
    (void)signal;
}

static void signal_until_done(pthread_t thread)
{
    while (!atomic_load(&writer_done)) {
        pthread_kill(thread, SIGUSR1);
        sched_yield();
    }
    pthread_join(thread, NULL);
}

static void catch_sigusr1(void)
{
    struct sigaction action = {.sa_handler = no_op};
    sigaction(SIGUSR1, &action, NULL);
}

Test(link_ring, a_writer_interrupted_at_a_full_ring_leaves_nothing_of_its_record)
{
    pthread_t thread;
    struct link_item item;
    catch_sigusr1();
    atomic_store(&give_up, 1);
    pthread_create(&thread, NULL, flood, NULL);
    wait_until_the_writer_waits();
    signal_until_done(thread);
    cr_assert(eq(int, atomic_load(&writer_result), LINK_EINTERRUPTED));
    cr_assert(eq(int, atomic_load(&released), atomic_load(&resumed)));
    cr_assert(eq(u32, atomic_load(&door.producer.lock.state), 0));
    uint64_t last = 0;
    while (door_next(&door, &item) == 1) {
        cr_assert(eq(u64, item.request, ++last));
    }
    cr_assert(eq(int, write_text("after"), 0));
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(slice_is(item.payload, "after"));
}

Test(link_ring, signals_that_raise_nothing_do_not_disturb_a_waiting_writer)
{
    pthread_t thread;
    struct link_item item;
    catch_sigusr1();
    pthread_create(&thread, NULL, flood, NULL);
    wait_until_the_writer_waits();
    for (int before = atomic_load(&resumed); atomic_load(&resumed) < before + 5;) {
        pthread_kill(thread, SIGUSR1);
        sched_yield();
    }
    for (uint64_t i = 1; i <= FLOOD; i++) {
        cr_assert(eq(int, door_wait(&door, &item), 1));
        cr_assert(eq(u64, item.request, i));
    }
    pthread_join(thread, NULL);
}

static void *write_one(void *unused)
{
    (void)unused;
    struct slice part = slice_of("x");
    atomic_store(&writer_result,
                 link_producer_write(&door.producer, LINK_STREAM, 1, &part, 1, &fake_wait));
    atomic_store(&writer_done, true);
    return NULL;
}

Test(link_ring, a_writer_that_waits_for_another_writer_can_be_interrupted)
{
    pthread_t thread;
    catch_sigusr1();
    atomic_store(&give_up, 1);
    atomic_store(&door.producer.lock.state, 1); /* some thread is inside a record */
    pthread_create(&thread, NULL, write_one, NULL);
    while (atomic_load(&released) == 0) {
        sched_yield();
    }
    signal_until_done(thread);
    cr_assert(eq(int, atomic_load(&writer_result), LINK_EINTERRUPTED));
}

/* ---- the bell ---------------------------------------------------------------------- */

static const struct {
    enum link_attention attention;
    uint32_t kind;
    bool rings;
} bell_rules[] = {
    {LINK_AWAKE, LINK_STREAM, false},  {LINK_AWAKE, LINK_DONE, false},
    {LINK_DOZING, LINK_STREAM, false}, {LINK_DOZING, LINK_STREAM | LINK_STDERR, false},
    {LINK_DOZING, LINK_DONE, true},    {LINK_DOZING, LINK_PUBLISH, false},
    {LINK_DOZING, LINK_ASK, true},     {LINK_DOZING, LINK_READY, true},
    {LINK_DOZING, LINK_LOOKUP, true},  {LINK_ASLEEP, LINK_LOOKUP, true},
    {LINK_DOZING, LINK_HISTORY, true}, {LINK_ASLEEP, LINK_HISTORY, true},
    {LINK_ASLEEP, LINK_STREAM, true},  {LINK_ASLEEP, LINK_DONE, true},
};

Test(link_ring, the_bell_rings_as_the_table_says)
{
    for (size_t i = 0; i < sizeof bell_rules / sizeof bell_rules[0]; i++) {
        struct link_item item;
        struct slice part = slice_of("x");
        door_bell_rang(&door);
        link_consumer_begin(&door.consumer);
        cr_assert(eq(int, link_consumer_next(&door.consumer, &item), 0));
        if (bell_rules[i].attention != LINK_AWAKE) {
            cr_assert(link_consumer_rest(&door.consumer, bell_rules[i].attention));
        }
        for (int twice = 0; twice < 2; twice++) {
            link_producer_write(&door.producer, bell_rules[i].kind, 1, &part, 1, NULL);
            bool first = twice == 0; /* who rang made the kernel awake */
            cr_assert(eq(int, door_bell_rang(&door), bell_rules[i].rings &&first), "row %zu", i);
        }
        link_consumer_begin(&door.consumer);
        cr_assert(eq(int, link_consumer_next(&door.consumer, &item), 1));
        cr_assert(eq(int, link_consumer_next(&door.consumer, &item), 1));
        cr_assert(eq(int, link_consumer_next(&door.consumer, &item), 0));
    }
}

Test(link_ring, the_first_record_rings_and_rest_refuses_to_sleep_over_news)
{
    write_text("x");
    cr_assert(eq(int, door_bell_rang(&door), true));
    link_consumer_begin(&door.consumer);
    struct link_item item;
    while (link_consumer_next(&door.consumer, &item) == 1) {
    }
    write_text("y"); /* the kernel is awake: no bell */
    cr_assert(eq(int, door_bell_rang(&door), false));
    cr_assert(eq(int, link_consumer_rest(&door.consumer, LINK_ASLEEP), false));
    cr_assert(eq(u32, atomic_load(&door.consumer.memory.page->attention), LINK_AWAKE));
}

Test(link_ring, a_kernel_that_says_it_looks_again_is_not_rung)
{
    struct link_item item;
    cr_assert(eq(int, door_next(&door, &item), 0));
    cr_assert(link_consumer_rest(&door.consumer, LINK_ASLEEP));
    cr_assert_not(link_consumer_has_news(&door.consumer));
    link_consumer_wake(&door.consumer);
    cr_assert(eq(int, write_text("quiet"), 0));
    cr_assert_not(door_bell_rang(&door));
    cr_assert(link_consumer_has_news(&door.consumer));
    cr_assert_not(link_consumer_rest(&door.consumer, LINK_ASLEEP)); /* it must look first */
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(slice_is(item.payload, "quiet"));
    cr_assert_not(link_consumer_has_news(&door.consumer));
}

/* ---- several writers, forks, sudden ends --------------------------------------------- */

enum { THREADS = 6, EACH = 3000 };

static void *write_numbers(void *p)
{
    uint64_t id = (uint64_t)(uintptr_t)p;
    static _Thread_local uint8_t bytes[70000];
    for (uint64_t i = 1; i <= EACH; i++) {
        size_t n = i % 100 == 0 ? sizeof bytes : 20 + (size_t)(i % 300);
        fill_pattern(bytes, n, id + i);
        struct slice parts[2] = {{bytes, 10}, {bytes + 10, n - 10}};
        uint64_t request = id << 32 | i;
        if (link_producer_write(&door.producer, LINK_STREAM, request, parts, 2, &fake_wait) != 0) {
            return p;
        }
    }
    return NULL;
}

Test(link_ring, writing_threads_keep_their_order_and_never_mix)
{
    pthread_t thread[THREADS];
    uint64_t last[THREADS] = {0};
    struct link_item item;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, write_numbers, (void *)(uintptr_t)i);
    }
    for (int i = 0; i < THREADS * EACH; i++) {
        cr_assert(eq(int, door_wait(&door, &item), 1));
        uint64_t id = item.request >> 32;
        uint64_t number = item.request & UINT32_MAX;
        cr_assert(lt(u64, id, THREADS));
        cr_assert(eq(u64, number, last[id] + 1));
        cr_assert(has_pattern(item.payload, id + number));
        last[id] = number;
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(thread[i], &failed);
        cr_assert(failed == NULL);
    }
    cr_assert(eq(int, door_next(&door, &item), 0));
}

static void fork_a_child_that_tries_to_write(void)
{
    struct slice part = slice_of("child");
    write_text("before");
    atomic_store(&door.producer.lock.state, 1); /* another thread held it at the fork */
    pid_t pid = fork();
    if (pid == 0) {
        int bad = link_producer_is_ours(&door.producer);
        bad += link_producer_write(&door.producer, LINK_STREAM, 1, &part, 1, NULL) != LINK_EFORKED;
        bad +=
            link_producer_write_parts(&door.producer, LINK_DONE, 1, &part, 1, NULL) != LINK_EFORKED;
        link_producer_release(&door.producer);
        _exit(bad);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    cr_assert(eq(int, status, 0));
    atomic_store(&door.producer.lock.state, 0);
    write_text("after");
    struct link_item item;
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(slice_is(item.payload, "before"));
    cr_assert(eq(int, door_next(&door, &item), 1));
    cr_assert(slice_is(item.payload, "after"));
}

Test(link_ring, a_forked_child_has_no_door_and_does_no_harm)
{
    cr_assert(door.producer.mark != NULL);
    fork_a_child_that_tries_to_write();
}

Test(link_ring, a_forked_child_knows_itself_also_where_a_fork_wipes_nothing)
{
    _Atomic uint32_t *mark = door.producer.mark;
    door.producer.mark = NULL;
    fork_a_child_that_tries_to_write();
    door.producer.mark = mark;
}

/* A worker of its own: the producer is made in the child, since forks cannot keep it. */
static pid_t fork_worker(void (*work)(struct link_producer *))
{
    pid_t pid = fork();
    if (pid == 0) {
        struct link_producer producer;
        if (link_producer_init(&producer, &door.fds) != 0) {
            _exit(99);
        }
        work(&producer);
        _exit(0);
    }
    return pid;
}

static void die_inside_a_record(struct link_producer *producer)
{
    const struct link_record record = {.kind = LINK_STREAM, .length = 5, .request = 3};
    struct slice part = slice_of("whole");
    for (uint64_t i = 1; i <= 3; i++) {
        link_producer_write(producer, LINK_STREAM, i, &part, 1, NULL);
    }
    memcpy(producer->memory.ring + (producer->head & (LINK_RING_SIZE - 1)), &record, sizeof record);
    raise(SIGKILL);
}

static void die_with_a_full_ring(struct link_producer *producer)
{
    static uint8_t bytes[1000];
    struct slice part = {bytes, sizeof bytes};
    for (uint64_t i = 1; i <= 4000; i++) {
        link_producer_write(producer, LINK_STREAM, i, &part, 1, NULL);
    }
    _exit(0);
}

static uint64_t drain_the_dead(pid_t pid)
{
    struct link_item item;
    uint64_t last = 0;
    waitpid(pid, NULL, 0);
    link_consumer_begin(&door.consumer);
    while (door_next(&door, &item) == 1) {
        cr_assert(eq(u64, item.request, ++last));
    }
    return last;
}

Test(link_ring, a_worker_killed_inside_a_record_has_said_all_records_before_it)
{
    cr_assert(eq(u64, drain_the_dead(fork_worker(die_inside_a_record)), 3));
}

Test(link_ring, a_worker_that_exits_at_once_has_said_everything)
{
    cr_assert(eq(u64, drain_the_dead(fork_worker(die_with_a_full_ring)), 4000));
}
