/* bridge/cell.c: what becomes of a cell, one row for each kind. */

#include "worker_fixture.h"

static const struct {
    const char *code, *more; /* more members of the request's content */
    const char *status;
    const char *reply;     /* in the reply's content */
    const char *text[2];   /* in the streams; NULL: nothing */
    const char *published; /* in the messages; NULL: none */
} rows[] = {
    {"", "", "ok", "{\"status\":\"ok\",\"user_expressions\":{},\"payload\":[]}", {0}, NULL},
    {"# only a comment", "", "ok", "ok", {0}, NULL},
    {"a = 41", "", "ok", "ok", {0}, NULL},
    {"a + 1",
     "",
     "ok",
     "ok",
     {0},
     "execute_result {\"execution_count\":4,\"data\":{\"text/plain\":\"42\"}"},
    {"a + 1;", "", "ok", "ok", {0}, NULL},
    {"a + 1", ",\"silent\":true", "ok", "ok", {0}, NULL},
    {"None", "", "ok", "ok", {0}, NULL},
    {"for i in range(2): i", "", "ok", "ok", {0}, NULL},
    {"print('out'); 5", "", "ok", "ok", {"out\n", NULL}, "\"text/plain\":\"5\""},
    {"import sys; print('err', file=sys.stderr)", "", "ok", "ok", {NULL, "err\n"}, NULL},
    {"import os; n = os.write(1, b'pipe 1'); n = os.write(2, b'pipe 2')",
     "",
     "ok",
     "ok",
     {"pipe 1", "pipe 2"},
     NULL},
    {"1/0",
     "",
     "error",
     "\"ename\":\"ZeroDivisionError\",\"evalue\":\"division by zero\"",
     {0},
     "error {\"ename\":\"ZeroDivisionError\""},
    {"b = 1\nraise KeyError('k')\nb = 2", "", "error", "\"ename\":\"KeyError\"", {0}, "error {"},
    {"b", "", "ok", "ok", {0}, "\"text/plain\":\"1\""},
    {"x = (", "", "error", "\"ename\":\"SyntaxError\"", {0}, "error {"},
    {"import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0, 'awaited')",
     "",
     "ok",
     "ok",
     {0},
     "awaited"},
    {"await asyncio.wait_for(asyncio.sleep(100), 0)", "", "error", "TimeoutError", {0}, "error {"},
    {"class Rude(Exception):\n    def __str__(self): raise self\nraise Rude",
     "",
     "error",
     "\"ename\":\"Rude\"",
     {0},
     "error {\"ename\":\"Rude\""},
    {"class Odd:\n    def __repr__(self): return 1/0\nOdd()",
     "",
     "ok",
     "ok",
     {0},
     "error {\"ename\":\"ZeroDivisionError\""},
    {"c = 3",
     ",\"user_expressions\":{\"c\":\"c + 1\",\"d\":\"nobody\"}",
     "ok",
     "\"user_expressions\":{\"c\":{\"status\":\"ok\",\"data\":{\"text/plain\":\"4\"}",
     {0},
     NULL},
    {"1/0",
     ",\"user_expressions\":{\"c\":\"c\"}",
     "error",
     "\"user_expressions\":{}",
     {0},
     "error {"},
    {"from __future__ import annotations", "", "ok", "ok", {0}, NULL},
    {"def f(x: nobody): ...\nf.__annotations__['x']", "", "ok", "ok", {0}, "nobody"},
    {"'\\ud800'", "", "ok", "ok", {0}, "execute_result"},
    {"exit", "", "exit", "\"source\":\"ask_exit\"", {0}, NULL},
    {"exit()", "", "exit", "\"source\":\"ask_exit\"", {0}, NULL},
    {"exit(); exit(keep_kernel=True)",
     "",
     "ok",
     "\"payload\":[{\"source\":\"ask_exit\",\"keepkernel\":true}]",
     {0},
     NULL},
    {"import _einkorn as e; e.payload({'source': 'a', 'n': 1}); e.payload({'source': 'b'}); "
     "e.payload({'source': 'a', 'n': 2}); e.payload(3)",
     "",
     "ok",
     "\"payload\":[{\"source\":\"a\",\"n\":2},{\"source\":\"b\"},3]",
     {0},
     NULL},
};

Test(cell, each_kind_of_cell_has_its_outcome)
{
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        worker_send_code(&worker, rows[i].code, rows[i].more);
        worker_until(&worker, LINK_DONE);
        cr_expect(zero(int, strcmp(worker.status, rows[i].status)), "of %s: %s", rows[i].code,
                  worker.status);
        expect_in(&worker.reply, rows[i].reply, rows[i].code);
        expect_in(&worker.text[0], rows[i].text[0], rows[i].code);
        expect_in(&worker.text[1], rows[i].text[1], rows[i].code);
        expect_in(&worker.published, rows[i].published, rows[i].code);
    }
    worker_stop(&worker);
}

Test(cell, an_interrupt_is_the_cells_error)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "print('runs')\nwhile True: pass", "");
    worker_until(&worker, LINK_STREAM);
    worker_interrupt(&worker, worker.number);
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.reply, "\"ename\":\"KeyboardInterrupt\"", "the loop");
    cr_expect(eq(u64, atomic_load(&worker.door.memory.page->interrupt_acknowledged), 1));
    worker_execute(&worker, "'alive'");
    expect_in(&worker.published, "alive", "the next");
    worker_stop(&worker);
}

Test(cell, an_interrupt_of_another_request_is_none)
{
    struct worker worker;
    worker_start(&worker, "0");
    struct link_page *page = worker.door.memory.page;
    worker_send_code(&worker, "print('runs'); line = input()", "");
    worker_until(&worker, LINK_ASK);
    atomic_store(&page->interrupt_number, worker.number + 1);
    atomic_store(&page->interrupt_serial, 1);
    cr_assert(eq(int, kill(worker.pid, SIGINT), 0));
    worker_answer(&worker, "ok", "\"answered\"");
    worker_until(&worker, LINK_DONE);
    cr_expect(zero(int, strcmp(worker.status, "ok")), "%s", worker_text(&worker.reply));
    worker_stop(&worker);
}

Test(cell, a_child_that_comes_back_out_of_its_cell_ends_there)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_execute(&worker, "import os\n"
                            "pid = os.fork()\n"
                            "if pid == 0: print('child'); raise SystemExit(9)\n"
                            "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])");
    expect_in(&worker.published, "\"text/plain\":\"9\"", "the parent");
    expect_in(&worker.text[0], "child\n", "the child");
    worker_stop(&worker);
}

Test(cell, what_a_cell_said_is_there_before_its_reply)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_execute(&worker, "import ctypes\n"
                            "libc = ctypes.CDLL(None)\n"
                            "n = libc.puts(b'held back by stdio')\n"
                            "import sys; n = sys.__stdout__.write('held back by io')");
    expect_in(&worker.text[0], "held back by stdio\n", "stdio");
    expect_in(&worker.text[0], "held back by io", "io");
    worker_stop(&worker);
}

Test(cell, the_bound_is_the_kernels)
{
    struct worker worker;
    worker_start(&worker, "10");
    worker_execute(&worker, "print('x' * 15); print('y', end='')");
    cr_expect(zero(int, strcmp(worker_text(&worker.text[0]), "xxxxxxxxxxxxxxx\ny")),
              "ten at once, the rest as a tail: %s", worker_text(&worker.text[0]));
    worker_stop(&worker);
}
