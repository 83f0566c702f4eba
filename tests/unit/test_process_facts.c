/* Tests of kernel/process_facts.c, on trees that look like /proc. */

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect_text.h"
#include "kernel/process_facts.h"

static char proc[64];

static void make_tree(void)
{
    static const char *const directories[] = {"", "/7", "/7/task", "/7/task/7", "/7/fd", "/8"};
    char path[128];

    (void)snprintf(proc, sizeof proc, "/tmp/ek-facts-XXXXXX");
    cr_assert(mkdtemp(proc) != NULL);
    for (size_t i = 1; i < sizeof directories / sizeof directories[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", proc, directories[i]);
        cr_assert(mkdir(path, 0700) == 0);
    }
}

static void remove_tree(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -r %s", proc);
    cr_assert(system(command) == 0);
}

TestSuite(process_facts, .init = make_tree, .fini = remove_tree);

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", proc, name);
    file = fopen(path, "w");
    cr_assert(file != NULL);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void put_call(long number, const char *arguments)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%ld %s\n", number, arguments);
    put("7/syscall", text);
}

static struct process_facts look(void)
{
    struct process_facts facts;

    process_facts_read(proc, 7, &facts);
    return facts;
}

Test(process_facts, where_nothing_can_be_read_nothing_is_known)
{
    struct process_facts facts = look();

    cr_expect(eq(chr, facts.state, '\0'));
    cr_expect(eq(i64, facts.cpu_ms, -1));
    EXPECT_TEXT(facts.wait_channel, "");
    cr_expect(facts.call == NULL);
    EXPECT_TEXT(facts.file, "");
    cr_expect(eq(int, facts.child, 0));
}

Test(process_facts, state_and_cpu_time_whatever_the_programs_name)
{
    struct process_facts facts;
    char text[256];

    (void)snprintf(text, sizeof text,
                   "7 (a) R (b 9) S 1 7 7 0 -1 4194560 900 0 0 0 %ld %ld 0 0 20 0 2 0 100 0\n",
                   sysconf(_SC_CLK_TCK), sysconf(_SC_CLK_TCK) / 2);
    put("7/stat", text);
    put("7/task/7/stat", "7 (a) R (b 9) D 1 7 7 0 -1 4194560 900 0 0 0 1 1 0 0 20 0 2 0 100 0\n");
    facts = look();
    cr_expect(eq(chr, facts.state, 'D'), "of the main thread");
    cr_expect(eq(i64, facts.cpu_ms, 1500), "of the whole process");
}

Test(process_facts, a_file_that_is_cut_short_is_unknown)
{
    struct process_facts facts;

    put("7/stat", "7 (a) S 1 7");
    put("7/task/7/stat", "7 (a");
    put("7/syscall", "");
    facts = look();
    cr_expect(eq(i64, facts.cpu_ms, -1));
    cr_expect(eq(chr, facts.state, '\0'));
    cr_expect(facts.call == NULL);
}

Test(process_facts, the_wait_channel)
{
    put("7/wchan", "pipe_read");
    EXPECT_TEXT(look().wait_channel, "pipe_read");
    put("7/wchan", "0");
    EXPECT_TEXT(look().wait_channel, ""); /* awake, or the system does not tell */
}

Test(process_facts, a_call_with_its_file)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/7/fd/12", proc);
    cr_assert(symlink("/mnt/share/data", path) == 0);
    put_call(SYS_read, "0xc 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd 0x7f00");
    EXPECT_TEXT(look().call, "read");
    EXPECT_TEXT(look().file, "/mnt/share/data");
    put_call(SYS_read, "0xd 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd 0x7f00");
    EXPECT_TEXT(look().file, ""); /* a file that is not there */
    put_call(SYS_futex, "0xc 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00");
    EXPECT_TEXT(look().file, ""); /* no file is its first argument */
}

Test(process_facts, calls_that_tell_nothing)
{
    static const char *const texts[] = {"running\n", "-1 0x7ffd 0x7f00\n", "9999 0x1 0x2\n", "\n"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put("7/syscall", texts[i]);
        cr_expect(look().call == NULL, "%s", texts[i]);
    }
}

Test(process_facts, the_child_that_is_waited_for)
{
    struct process_facts facts;

    put("8/comm", "a program (x)\n");
    put_call(SYS_wait4, "0x8 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd 0x7f00");
    facts = look();
    cr_expect(eq(int, facts.child, 8));
    EXPECT_TEXT(facts.child_name, "a program (x)");
    put_call(SYS_waitid, "0x1 0x8 0x7ffd 0x4 0x0 0x0 0x7ffd 0x7f00");
    cr_expect(eq(int, look().child, 8));
    put_call(SYS_waitid, "0x0 0x8 0x7ffd 0x4 0x0 0x0 0x7ffd 0x7f00");
    cr_expect(eq(int, look().child, 0), "any child");
    put_call(SYS_wait4, "0xffffffff 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd 0x7f00");
    cr_expect(eq(int, look().child, 0), "any child");
    put_call(SYS_wait4, "0x9 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd 0x7f00");
    facts = look();
    cr_expect(eq(int, facts.child, 9), "even if its name is not known");
    EXPECT_TEXT(facts.child_name, "");
}

Test(process_facts, of_ourselves_in_the_real_one)
{
    struct process_facts facts;

    process_facts_read("/proc", getpid(), &facts);
    cr_expect(eq(chr, facts.state, 'R'));
    cr_expect(ge(i64, facts.cpu_ms, 0));
}
