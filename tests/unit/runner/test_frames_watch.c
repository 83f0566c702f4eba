/* bridge/frames_watch.c: what is there is seen, and what is not is not waited for. */

#include "bridge/frames_watch.h"

#include <criterion/criterion.h>
#include <unistd.h>

static int ends[2];

static void open_pipe(void)
{
    cr_assert_eq(pipe(ends), 0);
}

TestSuite(frames_watch, .init = open_pipe, .timeout = 60);

Test(frames_watch, what_is_there_is_seen)
{
    cr_assert_eq(write(ends[1], "x", 1), 1);
    cr_assert(frames_watch(ends[0]));
}

Test(frames_watch, where_nothing_comes_it_gives_up)
{
    cr_assert_not(frames_watch(ends[0]));
}

Test(frames_watch, the_other_end_that_is_gone_is_seen)
{
    (void)close(ends[1]);
    cr_assert(frames_watch(ends[0]));
}
