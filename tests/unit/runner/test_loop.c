/* bridge/loop.c and module.c: what is served, and how a worker begins and ends. */

#include <errno.h>

#include "worker_fixture.h"

Test(loop, says_its_version_first)
{
    struct worker worker;
    struct link_item item;
    struct link_parts parts;
    worker_start(&worker, "0");
    link_consumer_begin(&worker.door);
    while (link_consumer_next(&worker.door, &item) != 1) {
        if (link_consumer_rest(&worker.door, LINK_ASLEEP)) {
            cr_assert(worker_sleep(&worker));
        }
        link_consumer_begin(&worker.door);
    }
    cr_expect(eq(int, (int)item.kind, LINK_READY));
    cr_assert(eq(int, link_parts_read(item.payload, &parts), 0));
    size_t n = strcspn(Py_GetVersion(), " ");
    cr_expect(eq(sz, parts.part[0].n, n));
    cr_expect(zero(int, memcmp(parts.part[0].p, Py_GetVersion(), n)));
    worker_stop(&worker);
}

Test(loop, what_it_does_not_serve_gets_an_answer_that_says_so)
{
    static const char *const types[] = {"nonsense_request", "", "a \"b\""};
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        worker_request(&worker, types[i], "{}");
        worker_until(&worker, LINK_DONE);
        cr_expect(zero(int, strcmp(worker.status, "error")));
        expect_in(&worker.reply, "\"evalue\":\"the worker does not serve ", types[i]);
    }
    expect_in(&worker.reply, "serve a \\\"b\\\"\"", "the last");
    worker_stop(&worker);
}

Test(loop, fields_that_are_missing_or_wrong_take_their_defaults)
{
    static const char *const contents[] = {
        "{}",
        "{\"code\":1}",
        "{\"code\":\"\",\"silent\":\"x\",\"store_history\":1,\"user_expressions\":[]}",
        "{\"code\":\"\",\"user_expressions\":{\"a\":1}}",
    };
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        worker_request(&worker, "execute_request", contents[i]);
        worker_until(&worker, LINK_DONE);
        cr_expect(zero(int, strcmp(worker.status, "ok")), "%s", contents[i]);
        expect_in(&worker.reply, "\"user_expressions\":{}", contents[i]);
    }
    worker_stop(&worker);
}

Test(loop, requests_that_wait_are_served_before_the_end)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "import atexit\n_ = atexit.register(print, 'last words')", "");
    worker_send_code(&worker, "print('second')", "");
    link_sender_close(&worker.sender);
    worker.number = 1;
    worker_until(&worker, LINK_DONE);
    worker.number = 2;
    worker_until(&worker, LINK_KIND_END);
    expect_in(&worker.text[0], "second\nlast words\n", "stdout");
    cr_expect(eq(int, worker_outcome(&worker), 0));
    worker_release(&worker);
}

Test(loop, tasks_go_on_between_cells)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_execute(&worker, "import asyncio\n"
                            "async def later():\n"
                            "    await asyncio.sleep(0.01)\n"
                            "    print('from a task')\n"
                            "task = asyncio.ensure_future(later())\n"
                            "await asyncio.sleep(0)");
    while (worker.text[0].n == 0) {
        worker_until(&worker, LINK_STREAM);
    }
    expect_in(&worker.text[0], "from a task", "stdout");
    worker_stop(&worker);
}

static void send_comm(struct worker *self, uint64_t number)
{
    const struct slice part[] = {slice_of("comm_msg"), slice_of("{}"), slice_of("{}"),
                                 slice_of("{\"comm_id\":\"?\",\"data\":{}}")};
    cr_assert(eq(int, link_sender_put(&self->sender, LINK_COMM, 0, number, part, 4), 0));
}

/* LINK_BEGIN and LINK_DONE of that number, and nothing between them. */
static void expect_comm(struct worker *self, uint64_t number)
{
    for (int i = 0; i < 2; i++) {
        struct link_item item;
        int r;
        while ((r = link_consumer_next(&self->door, &item)) == 0) {
            if (link_consumer_rest(&self->door, LINK_ASLEEP)) {
                cr_assert(worker_sleep(self));
            }
            link_consumer_begin(&self->door);
        }
        cr_assert(eq(int, r, 1));
        cr_expect(eq(int, (int)item.kind, (int)(i == 0 ? LINK_BEGIN : LINK_DONE)));
        cr_expect(eq(u64, item.request, number));
    }
}

Test(loop, comm_messages_that_came_ahead_are_begun_and_done)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "print('go')\nawait __import__('asyncio').sleep(60)", "");
    worker_until(&worker, LINK_STREAM);
    worker_until(&worker, LINK_BEGIN); /* it awaits */
    for (uint64_t number = 2; number <= 4; number++) {
        send_comm(&worker, number);
        expect_comm(&worker, number); /* in an await */
    }
    worker_interrupt(&worker, 1);
    worker_until(&worker, LINK_DONE);
    send_comm(&worker, 5);
    expect_comm(&worker, 5); /* after the request */
    worker.number = 5;
    worker_send_code(&worker,
                     "import einkorn\nprint('go')\n"
                     "while einkorn.process_messages() == 0:\n    pass",
                     "");
    worker_until(&worker, LINK_STREAM);
    send_comm(&worker, 7);
    expect_comm(&worker, 7); /* by the call */
    worker_until(&worker, LINK_DONE);
    worker_stop(&worker);
}

Test(loop, comm_messages_that_still_wait_at_the_end_are_dropped)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "print('go')\nimport time\ntime.sleep(60)", "");
    worker_until(&worker, LINK_STREAM);
    send_comm(&worker, 2);
    link_sender_close(&worker.sender);
    worker_interrupt(&worker, 1);
    worker_until(&worker, LINK_DONE);
    for (;;) {
        struct link_item item;
        int r = link_consumer_next(&worker.door, &item);
        cr_assert(ge(int, r, 0));
        cr_expect(r == 0 || (item.kind != LINK_BEGIN && item.kind != LINK_DONE));
        if (r == 0 && link_consumer_rest(&worker.door, LINK_ASLEEP) && !worker_sleep(&worker)) {
            break;
        }
        if (r == 0) {
            link_consumer_begin(&worker.door);
        }
    }
    cr_expect(eq(int, worker_outcome(&worker), 0));
    worker_release(&worker);
}

Test(loop, a_door_that_speaks_nonsense_ends_the_worker_as_a_failure)
{
    static const char garbage[64] = "this is no request";
    struct worker worker;
    worker_start(&worker, "0");
    cr_assert(eq(sz, (size_t)write(worker.door.request, garbage, sizeof garbage), sizeof garbage));
    worker_until(&worker, LINK_KIND_END);
    expect_in(&worker.text[1], "einkorn: the way to the kernel is broken", "stderr");
    cr_expect(eq(int, worker_outcome(&worker), 1));
    worker_release(&worker);
}

Test(module, a_wrong_configuration_is_refused)
{
    char kernel[24];
    (void)snprintf(kernel, sizeof kernel, "%d", (int)getppid());
    const struct {
        const char *fds, *kernel, *max_output;
        int result;
    } rows[] = {
        {"1,2,3,4,5", kernel, "0", -EINVAL},  {"a,b,c,d,e,f", kernel, "0", -EINVAL},
        {"3,4,5,6,7,8", "12x", "0", -EINVAL}, {"3,4,5,6,7,8", kernel, "many", -EINVAL},
        {"3,4,5,6,7,8", "1", "0", -ESRCH}, /* not our parent: it is gone */
        {"3,4,5,6,7,8", kernel, "0", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runner_config config = {rows[i].fds, rows[i].kernel, EINKORN_PYTHON_HALF,
                                       rows[i].max_output, ""};
        cr_expect(eq(int, einkorn_runner_configure(&config), rows[i].result), "row %zu", i);
    }
}

Test(module, without_a_configuration_it_says_who_starts_it)
{
    cr_assert(ge(int, PyImport_AppendInittab("_einkorn", PyInit__einkorn), 0));
    interpreter_start();
    cr_assert(py_exec("import sys\n"
                      "import _einkorn\n"
                      "for argv in ([], ['-c'], ['-c', 'r', '1,2', '1', 'l', '0', '']):\n"
                      "    sys.argv = argv\n"
                      "    try: _einkorn.run()\n"
                      "    except RuntimeError as error: said = str(error)\n"
                      "    assert said.startswith('_einkorn'), said\n"
                      "assert 'bad arguments' in said, said\n"));
}
