#ifndef TESTS_UNIT_INTERRUPT_FIXTURE_H
#define TESTS_UNIT_INTERRUPT_FIXTURE_H

/*
 * A worker's process that tells of each SIGINT it gets.
 */

#include "kernel_fixture.h"

static int heard[2]; /* a byte for each SIGINT that the worker's process got */

static inline void on_interrupt(int signal)
{
    (void)signal;
    (void)!write(heard[1], "i", 1);
}

static inline void listen_to_interrupts(void)
{
    (void)signal(SIGINT, on_interrupt);
}

/* A running cell in a worker that hears interrupts. */
static inline void start_cell(struct stage *stage)
{
    cr_assert(pipe(heard) == 0);
    stage_init_ready(stage);
    stage_worker(stage, listen_to_interrupts);
    stage_execute(stage, "{\"code\":\"x\"}");
    stage_expect_request(stage, 1, 1);
}

/* Runs the loop until the worker has heard another one. */
static inline void expect_heard(struct stage *stage)
{
    char byte;

    stage_run_until_readable(stage, heard[0], "an interrupt");
    cr_assert(read(heard[0], &byte, 1) == 1);
}

#endif
