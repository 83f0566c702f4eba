/* Requests: the kernel's queue, the worker's reader, and who waits for what. */

#include "test_link_door.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct door door;
static struct link_sender sender;
static struct link_reader reader;

static void open_door(void)
{
    door_open(&door);
    link_sender_init(&sender, door.consumer.request);
    cr_assert(eq(int, link_reader_init(&reader, door.fds.request), 0));
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
        cr_assert(eq(int, ask(LINK_COMM, 0), headers[i].result), "%s", headers[i].what);
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

/* ---- large ones, and a worker that does not read ------------------------------------- */

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
    for (uint64_t i = 1; i <= 3; i++) {
        struct slice part = {bytes, HUGE_SIZE - i};
        fill_pattern(bytes, HUGE_SIZE, i);
        cr_assert(eq(int, link_sender_put(&sender, LINK_SHELL, 0, i, &part, 1), 0));
    }
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
