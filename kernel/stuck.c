/*
 * Notices that Python does not react to an interrupt, and tells. Runs in the
 * kernel process, on the thread of the zloop, at the ticks of the interrupt's
 * timer; so nothing of it costs anything while Python reacts.
 *
 * The stacks are asked for by a signal to the worker, whose handler writes them
 * into the side pipe. Their end has no mark: they are complete at the first tick
 * that brings no more. Stacks that nobody wants any more are read nevertheless, for
 * what lies in the side pipe when the worker dies is taken for its last words.
 */

#include "kernel/stuck.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge/stacks.h"
#include "kernel/kernel.h"
#include "kernel/log.h"
#include "kernel/notice.h"
#include "kernel/process_facts.h"
#include "kernel/process_group.h"
#include "kernel/stuck_text.h"

enum { STACKS_MAX = 2 << 20 }; /* faulthandler bounds itself: 100 threads of 100 frames */

void stuck_release(struct stuck *self)
{
    buffer_release(&self->stacks);
    memset(self, 0, sizeof *self);
}

void stuck_interrupted(struct kernel *kernel, uint64_t request)
{
    struct stuck *self = &kernel->stuck;

    if (self->request == request) {
        self->wanted = self->told;
    } else {
        struct process_facts facts;

        process_facts_read("/proc", kernel->supervisor.pid, &facts);
        self->request = request;
        self->since_ms = kernel_now_ms();
        self->cpu_ms = facts.cpu_ms;
        self->told = self->wanted = false;
    }
}

/* Takes what has come into the side pipe. -> whether anything had. */
static bool read_stacks(struct kernel *kernel)
{
    struct stuck *self = &kernel->stuck;
    uint8_t bytes[16 << 10];
    bool any = false;
    ssize_t n;

    while ((n = read(kernel->door.side, bytes, sizeof bytes)) > 0) {
        any = true;
        if (self->stacks.n < STACKS_MAX) {
            buffer_put(&self->stacks, bytes, (size_t)n);
        }
    }
    return any;
}

static void ask_for_stacks(struct kernel *kernel)
{
    struct stuck *self = &kernel->stuck;

    (void)read_stacks(kernel);
    buffer_clear(&self->stacks);
    self->asked_ms = kernel_now_ms();
    if (process_catches(kernel->supervisor.pid, STACKS_SIGNAL)) {
        (void)kill(kernel->supervisor.pid, STACKS_SIGNAL);
    }
}

static void tell(struct kernel *kernel)
{
    struct stuck *self = &kernel->stuck;
    long long waited_ms = kernel_now_ms() - self->since_ms;
    struct buffer text = BUFFER_INIT;
    struct process_facts facts;
    int64_t cpu_ms = -1;

    process_facts_read("/proc", kernel->supervisor.pid, &facts);
    if (self->cpu_ms >= 0 && facts.cpu_ms >= self->cpu_ms) {
        cpu_ms = facts.cpu_ms - self->cpu_ms;
    }
    stuck_text(waited_ms, &facts, cpu_ms, buffer_slice(&self->stacks), &text);
    log_warning("Python has not reacted to an interrupt for %lld ms", waited_ms);
    notice_publish(kernel, kernel->lane.current->origin, buffer_slice(&text));
    buffer_release(&text);
    self->told = true;
    self->wanted = false;
}

bool stuck_tick(struct kernel *kernel, bool waits)
{
    struct stuck *self = &kernel->stuck;
    long long now = kernel_now_ms();

    if (!waits || lane_running(&kernel->lane) != self->request || kernel->stopping) {
        self->request = 0;
    }
    if (self->asked_ms != 0) {
        bool more = read_stacks(kernel);

        if (more || (self->stacks.n == 0 && now - self->asked_ms < STUCK_STACKS_MS)) {
            return true;
        }
        self->asked_ms = 0;
        if (self->request != 0) {
            tell(kernel);
        }
        buffer_release(&self->stacks);
    } else if (self->request != 0 &&
               (self->told ? self->wanted : now - self->since_ms >= STUCK_AFTER_MS)) {
        ask_for_stacks(kernel);
        return true;
    }
    return false;
}
