/* Tests of kernel/door_pause.c: when the worker's records wait, and what ends it. */

#include "bridge/clock.h"
#include "kernel/door_pause.h"
#include "kernel_fixture.h"

/* A cell is with the worker and its code runs. */
static void stage_init_running(struct stage *self)
{
    stage_init_ready(self);
    stage_execute(self, "{\"code\":\"x\",\"silent\":true}");
    stage_expect_request(self, 1, 1);
    stage_expect_status(self, "m1", "busy");
    atomic_store(&self->worker.memory.page->running, 1);
}

/* More stream messages than a server passes on. */
static void publish_too_many(struct stage *self)
{
    pace_add(&self->kernel->output.messages, clock_us(CLOCK_MONOTONIC), 100000);
    self->kernel->output.own_messages = 100000;
}

Test(door_pause, a_backlog_leaves_room_for_the_last_words_of_a_cell)
{
    struct stage stage;
    size_t last_words = 2 * LINK_RING_SIZE;
    _Atomic size_t *unsent;

    stage_init_running(&stage);
    unsent = &stage.kernel->iopub.unsent;
    atomic_store(unsent, IOPUB_BACKLOG_MAX);
    cr_assert_not(door_pause_wanted(stage.kernel));
    atomic_store(unsent, IOPUB_BACKLOG_MAX + 1);
    cr_assert(door_pause_wanted(stage.kernel));
    atomic_store(&stage.worker.memory.page->running, 0);
    cr_assert_not(door_pause_wanted(stage.kernel));
    atomic_store(unsent, IOPUB_BACKLOG_MAX + last_words + 1);
    cr_assert(door_pause_wanted(stage.kernel), "but not for more than that");
    atomic_store(unsent, IOPUB_BACKLOG_MAX + last_words);
    stage_say_done(&stage, 1, "ok");
    stage_expect(&stage, CHANNEL_SHELL, "execute_reply", "m1", "ok");
    cr_assert(door_pause_wanted(stage.kernel), "no cell, no last words");
    atomic_store(unsent, 0);
    stage_release(&stage);
}

Test(door_pause, too_many_messages_wait_while_the_cell_goes_on)
{
    struct stage stage;

    stage_init_running(&stage);
    stage_say_text(&stage, 1, "a");
    cr_assert_not(door_pause_wanted(stage.kernel), "not too many yet");
    publish_too_many(&stage);
    cr_assert(door_pause_wanted(stage.kernel));
    atomic_store(&stage.worker.memory.page->running, 0);
    cr_assert_not(door_pause_wanted(stage.kernel), "the cell is at its end");
    stage_release(&stage);
}

Test(door_pause, a_ring_that_is_half_full_does_not_wait_for_messages)
{
    struct stage stage;

    stage_init_running(&stage);
    publish_too_many(&stage);
    while (atomic_load(&stage.worker.memory.page->head) - stage.kernel->door.tail <
           LINK_RING_SIZE / 2) {
        cr_assert(door_pause_wanted(stage.kernel));
        stage_say_text(&stage, 1, "0123456789012345678901234567890123456789012345678901234567890");
    }
    cr_assert_not(door_pause_wanted(stage.kernel));
    stage_release(&stage);
}

Test(door_pause, what_a_worker_said_before_it_fell_silent_is_taken)
{
    struct stage stage;

    stage_init_running(&stage);
    publish_too_many(&stage);
    stage_say_ask(&stage, 1, 1, "{\"prompt\":\"?\",\"password\":false}");
    cr_assert(door_pause_wanted(stage.kernel));
    stage_settle(&stage); /* by time: it says no more */
    cr_assert_gt(pace_level(&stage.kernel->output.messages, clock_us(CLOCK_MONOTONIC)),
                 OUTPUT_MESSAGES);
    stage_release(&stage);
}
