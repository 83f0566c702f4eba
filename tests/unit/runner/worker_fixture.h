#ifndef TESTS_RUNNER_WORKER_FIXTURE_H
#define TESTS_RUNNER_WORKER_FIXTURE_H

/*
 * A whole worker in a child process, made of the runner and an interpreter
 * without the launcher; the test is its kernel and holds that end of the door.
 */

#include "interpreter.h"

#include <criterion/new/assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/json_text.h"
#include "bridge/link.h"
#include "bridge/runner.h"

PyMODINIT_FUNC PyInit__einkorn(void);

enum { WORKER_DEADLINE_MS = 20000 };

struct worker {
    struct link_consumer door;
    struct link_sender sender;
    pid_t pid;
    uint64_t number; /* of the last request */

    /* What it said since the last request; texts with a NUL behind them. */
    struct buffer text[2];
    struct buffer published; /* "type content\n" of each */
    size_t buffers;          /* bytes of their buffers */
    struct buffer reply;
    char status[16];
    uint64_t ask; /* serial of the last question */
    struct buffer question;
};

/* Never returns: the child's way, as the launcher would go it. */
static inline void worker_main(const struct link_fds *fds, pid_t kernel, const char *max_output)
{
    char fds_text[LINK_FDS_TEXT], kernel_text[24];
    struct runner_config config = {.fds = fds_text,
                                   .kernel_pid = kernel_text,
                                   .library = EINKORN_PYTHON_HALF,
                                   .max_output = max_output,
                                   .settings = "shell=plain\n"};
    link_fds_format(fds, fds_text);
    (void)snprintf(kernel_text, sizeof kernel_text, "%d", (int)kernel);
    int status = 3;
    if (einkorn_runner_configure(&config) == 0 &&
        PyImport_AppendInittab("_einkorn", PyInit__einkorn) == 0) {
        Py_InitializeEx(1);
        status = py_exec("import _einkorn; _einkorn.run()") ? 0 : 1;
        if (status != 0) {
            PyErr_Print();
        }
        if (Py_FinalizeEx() != 0) {
            status = 4;
        }
    }
    _exit(status);
}

static inline void worker_start(struct worker *self, const char *max_output)
{
    struct link_fds fds;
    int stdio[2];
    pid_t kernel = getpid();
    memset(self, 0, sizeof *self);
    cr_assert(eq(int, link_consumer_init(&self->door, &fds, stdio), 0));
    link_sender_init(&self->sender, &self->door);
    self->pid = fork();
    cr_assert(ge(int, self->pid, 0));
    if (self->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, 0);
        link_consumer_release(&self->door);
        (void)dup2(stdio[0], 1);
        (void)dup2(stdio[1], 2);
        close(stdio[0]);
        close(stdio[1]);
        worker_main(&fds, kernel, max_output);
    }
    link_fds_close(&fds);
    close(stdio[0]);
    close(stdio[1]);
}

static inline void worker_keep(struct buffer *text, struct slice more)
{
    text->n -= text->n > 0 ? 1 : 0;
    buffer_put_slice(text, more);
    buffer_put_char(text, '\0');
}

static inline const char *worker_text(const struct buffer *text)
{
    return text->n > 0 ? (const char *)text->p : "";
}

static inline void worker_hear(struct worker *self, const struct link_item *item)
{
    struct link_parts parts;
    if (item->kind == LINK_STREAM) {
        worker_keep(&self->text[item->is_stderr ? 1 : 0], item->payload);
        return;
    }
    cr_assert(eq(int, link_parts_read(item->payload, &parts), 0));
    if (item->kind == LINK_PUBLISH) {
        worker_keep(&self->published, parts.part[0]);
        worker_keep(&self->published, slice_of(" "));
        worker_keep(&self->published, parts.part[2]);
        worker_keep(&self->published, slice_of("\n"));
        for (size_t i = 3; i < parts.count; i++) {
            self->buffers += parts.part[i].n;
        }
    } else if (item->kind == LINK_ASK) {
        cr_assert(eq(sz, parts.part[0].n, sizeof self->ask));
        memcpy(&self->ask, parts.part[0].p, sizeof self->ask);
        buffer_clear(&self->question);
        worker_keep(&self->question, parts.part[1]);
    } else if (item->kind == LINK_DONE) {
        cr_assert(eq(u64, item->request, self->number));
        worker_keep(&self->reply, parts.part[0]);
        (void)snprintf(self->status, sizeof self->status, "%.*s", (int)parts.part[2].n,
                       (const char *)parts.part[2].p);
    }
}

/* Sleeps until something of it is to be seen. -> false: its pipes have ended, and so has it. */
static inline bool worker_sleep(struct worker *self)
{
    struct pollfd fds[3] = {
        {.fd = self->door.bell, .events = POLLIN},
        {.fd = self->door.text[0].ended ? -1 : self->door.pipe[0], .events = POLLIN},
        {.fd = self->door.text[1].ended ? -1 : self->door.pipe[1], .events = POLLIN}};
    if (self->door.text[0].ended && self->door.text[1].ended) {
        return false;
    }
    int ready = poll(fds, 3, WORKER_DEADLINE_MS);
    cr_assert(ge(int, ready, 1), "the worker says nothing"); /* Criterion 2.4.1: gt is >= */
    link_consumer_hush(&self->door);
    return true;
}

/* Hears all up to the next item of that kind. LINK_KIND_END: up to its end. */
static inline void worker_until(struct worker *self, enum link_kind kind)
{
    for (;;) {
        struct link_item item;
        int r = link_consumer_next(&self->door, &item);
        cr_assert(ge(int, r, 0), "it broke the format");
        if (r == 1) {
            worker_hear(self, &item);
            if (item.kind == kind) {
                return;
            }
        } else if (link_consumer_rest(&self->door, LINK_ASLEEP)) {
            bool more = worker_sleep(self);
            cr_assert(more || kind == LINK_KIND_END, "the worker ended: %s",
                      worker_text(&self->text[1]));
            if (!more) {
                return;
            }
            link_consumer_begin(&self->door);
        } else {
            link_consumer_begin(&self->door);
        }
    }
}

static inline void worker_forget(struct worker *self)
{
    struct buffer *const all[] = {&self->text[0], &self->text[1], &self->published, &self->reply,
                                  &self->question};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        buffer_release(all[i]);
    }
    self->buffers = 0;
    self->status[0] = '\0';
}

/* Sends the next request; its number counts up from 1, and is its count too. */
static inline void worker_request(struct worker *self, const char *type, const char *content)
{
    const struct slice part[] = {slice_of(type), slice_of("{}"), slice_of("{}"), slice_of(content)};
    worker_forget(self);
    self->number++;
    cr_assert(eq(
        int,
        link_sender_put(&self->sender, LINK_SHELL, (uint32_t)self->number, self->number, part, 4),
        0));
}

static inline void worker_send_code(struct worker *self, const char *code, const char *more)
{
    struct buffer content = BUFFER_INIT;
    buffer_put_text(&content, "{\"allow_stdin\":true,\"code\":");
    json_put_string(&content, slice_of(code));
    buffer_put_text(&content, more);
    buffer_put_text(&content, "}");
    buffer_put_char(&content, '\0');
    worker_request(self, "execute_request", (const char *)content.p);
    buffer_release(&content);
}

static inline void worker_execute(struct worker *self, const char *code)
{
    worker_send_code(self, code, "");
    worker_until(self, LINK_DONE);
}

static inline void worker_answer(struct worker *self, const char *status, const char *value)
{
    const struct slice part[] = {slice_of(status), slice_of(value)};
    cr_assert(eq(int, link_sender_put(&self->sender, LINK_ANSWER, 0, self->ask, part, 2), 0));
}

/* Interrupts a request as the kernel does: again and again until it is taken up. */
static inline void worker_interrupt(struct worker *self, uint64_t number)
{
    struct link_page *page = self->door.memory.page;
    uint64_t serial = atomic_load(&page->interrupt_serial) + 1;
    atomic_store(&page->interrupt_number, number);
    atomic_store(&page->interrupt_serial, serial);
    for (int i = 0; i < 100 && atomic_load(&page->interrupt_acknowledged) != serial; i++) {
        struct pollfd bell = {.fd = self->door.bell, .events = POLLIN};
        cr_assert(eq(int, kill(self->pid, SIGINT), 0));
        (void)poll(&bell, 1, 100);
    }
}

/* Reaps it. -> its exit status, or a negative signal. */
static inline int worker_outcome(struct worker *self)
{
    int status;
    cr_assert(eq(int, waitpid(self->pid, &status, 0), self->pid));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void worker_release(struct worker *self)
{
    worker_forget(self);
    link_sender_release(&self->sender);
    link_consumer_release(&self->door);
}

/* The door closes, and it ends well. */
static inline void worker_stop(struct worker *self)
{
    link_sender_close(&self->sender);
    worker_until(self, LINK_KIND_END);
    cr_expect(eq(int, worker_outcome(self), 0), "%s", worker_text(&self->text[1]));
    worker_release(self);
}

/* `text` must have that in it; NULL: it must be empty. */
static inline void expect_in(const struct buffer *text, const char *fragment, const char *of)
{
    if (fragment == NULL) {
        cr_expect(eq(sz, text->n, 0), "of %s: nothing wanted, not %s", of, worker_text(text));
    } else {
        cr_expect(ne(ptr, strstr(worker_text(text), fragment), NULL), "of %s: %s is not in %s", of,
                  fragment, worker_text(text));
    }
}

#endif
