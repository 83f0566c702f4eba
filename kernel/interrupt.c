/*
 * One interrupt of the running request, whoever asked: interrupt_request, a
 * SIGINT, or the end of the kernel. Runs in the kernel process, on the thread
 * of the zloop.
 */

#include "kernel/interrupt.h"

#include "kernel/kernel.h"

static int on_timer(zloop_t *loop, int timer, void *arg)
{
    struct kernel *kernel = arg;
    struct link_page *page = kernel->door.memory.page;
    uint64_t running = lane_running(&kernel->lane);
    bool waits = supervisor_interrupt_waits(&kernel->supervisor, page, running);
    bool tells = stuck_tick(kernel, waits); /* before the signal, which wakes what it looks at */

    if (waits) {
        supervisor_interrupt_again(&kernel->supervisor);
    } else if (!tells) {
        (void)zloop_timer_end(loop, timer);
        kernel->interrupt_timer = -1;
    }
    return 0;
}

void interrupt_running(struct kernel *kernel)
{
    uint64_t number = lane_running(&kernel->lane);

    if (number == 0) {
        return;
    }
    /* Children are a cell's; a completion that is given up is nothing to them. */
    supervisor_interrupt(&kernel->supervisor, kernel->door.memory.page, number,
                         kernel->lane.current->kind == JOB_EXECUTE);
    stuck_interrupted(kernel, number);
    if (kernel->interrupt_timer == -1) {
        kernel->interrupt_timer =
            zloop_timer(kernel->loop, SUPERVISOR_REPEAT_MS, 0, on_timer, kernel);
    }
}
