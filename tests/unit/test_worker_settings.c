/* Tests of kernel/worker_settings.c. */

#include "kernel/worker_settings.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void expect(const struct options *options, const char *text)
{
    char *settings = worker_settings(options);

    cr_expect_str_eq(settings, text, "%s", settings);
    free(settings);
}

Test(worker_settings, what_is_not_said_is_left_out)
{
    expect(&(struct options){.shell = "auto"}, "shell=auto\nipykernel=yes\n");
    expect(&(struct options){.shell = "auto", .facts = true},
           "shell=auto\nipykernel=yes\nfacts=yes\n");
}

Test(worker_settings, all_that_may_be_said)
{
    expect(&(struct options){.shell = "plain",
                             .no_ipykernel_shim = true,
                             .connection_file = "/c.json",
                             .history = {.is = true, .said = true},
                             .history_output.said = true,
                             .history_file = "h",
                             .ipython_dir = "/i",
                             .profile = "p",
                             .profile_dir = "/d",
                             .ignored = {"--A.b=1", "--A.c=2\n3", "--A.d", "--pylab"},
                             .ignored_value = {[2] = "w"},
                             .ignored_count = 4},
           "shell=plain\nipykernel=no\nconnection_file=/c.json\nhistory=h\nhistory_chosen=yes\n"
           "trait=--HistoryManager.enabled=True\ntrait=--HistoryManager.db_log_output=False\n"
           "ipython_dir=/i\nprofile=p\nprofile_dir=/d\ntrait=--A.b=1\ntrait=--A.d=w\n"
           "trait=--pylab\n");
}

Test(worker_settings, a_history_in_memory_has_no_file)
{
    expect(&(struct options){.shell = "auto", .history.is = true, .history_file = ":memory:"},
           "shell=auto\nipykernel=yes\nhistory_chosen=yes\n");
}
