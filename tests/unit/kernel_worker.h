#ifndef TESTS_UNIT_KERNEL_WORKER_H
#define TESTS_UNIT_KERNEL_WORKER_H

/*
 * The worker's part in the tests of the kernel: what it says and is asked at the
 * door, and a process that stands for it where signals and its end matter.
 */

#include "kernel_client.h"

static inline void stage_say(struct stage *self, uint32_t kind, uint64_t request,
                             const struct slice *part, size_t count)
{
    cr_assert(link_producer_write_parts(&self->worker, kind, request, part, count, NULL) == 0);
}

static inline void stage_say_ready(struct stage *self)
{
    struct slice version = slice_of("3.11.7");

    stage_say(self, LINK_READY, 0, &version, 1);
}

static inline void stage_say_done(struct stage *self, uint64_t number, const char *status)
{
    char content[STAGE_TEXT];

    (void)snprintf(content, sizeof content, "{\"status\":\"%s\"}",
                   strcmp(status, "exit") == 0 ? "ok" : status);
    stage_say(self, LINK_DONE, number,
              (struct slice[]){slice_of(content), slice_of("{}"), slice_of(status)}, 3);
}

static inline void stage_say_ask(struct stage *self, uint64_t number, uint64_t serial,
                                 const char *content)
{
    stage_say(self, LINK_ASK, number,
              (struct slice[]){{(const uint8_t *)&serial, sizeof serial}, slice_of(content)}, 2);
}

static inline void stage_say_text(struct stage *self, uint64_t number, const char *text)
{
    struct slice part = slice_of(text);

    cr_assert(link_producer_write(&self->worker, LINK_STREAM, number, &part, 1, NULL) == 0);
}

/* The next request of that kind at the door. */
static inline struct link_request *stage_take(struct stage *self, enum link_request_kind kind,
                                              uint64_t number)
{
    struct link_request *request;

    while (link_reader_poll(&self->reader, kind, number, &request) == -EAGAIN) {
        stage_run_until_readable(self, self->worker.fds.request, "a request");
    }
    return request;
}

static inline void stage_expect_request(struct stage *self, uint64_t number, uint32_t count)
{
    struct link_request *request = stage_take(self, LINK_SHELL, 0);

    cr_assert_eq(request->number, number);
    cr_assert_eq(request->count, count);
    link_request_destroy(&request);
}

/* What an ask is answered with: the status and the value. */
static inline void stage_expect_answer(struct stage *self, uint64_t serial, const char *status,
                                       const char *value)
{
    struct link_request *request = stage_take(self, LINK_ANSWER, serial);

    cr_assert(slice_is(request->parts.part[0], status));
    cr_assert(slice_is(request->parts.part[1], value), "the answer is %.*s",
              (int)request->parts.part[1].n, (const char *)request->parts.part[1].p);
    link_request_destroy(&request);
}

/* Runs the loop until the kernel has taken all that the worker said. */
static inline void stage_settle(struct stage *self)
{
    struct link_page *page = self->worker.memory.page;

    while (atomic_load(&page->tail) != atomic_load(&page->head)) {
        stage_turn(self);
    }
}

/*
 * A process in a group of its own that stands for Python; the kernel takes it
 * for its worker. It runs `body` and then waits for a signal. It is set up when
 * this returns. It dies with the test.
 */
static inline pid_t stage_fork(pid_t group, void (*body)(void))
{
    int ready[2];
    sigset_t none;
    pid_t pid;
    char c;

    cr_assert(pipe(ready) == 0);
    pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, group);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (body) {
            body();
        }
        (void)!write(ready[1], "x", 1);
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    cr_assert(read(ready[0], &c, 1) == 1);
    (void)close(ready[0]);
    return pid;
}

static inline void stage_worker(struct stage *self, void (*body)(void))
{
    struct supervisor *supervisor = &self->kernel->supervisor;

    supervisor->pid = stage_fork(0, body);
    supervisor->pidfd = (int)syscall(SYS_pidfd_open, supervisor->pid, 0);
    cr_assert(supervisor->pidfd >= 0);
    stage_watch(self, supervisor->pidfd, stage_on_worker_end);
}

#endif
