/* bridge/port_link.c and api.c: what Python code says and asks, seen from the kernel's end. */

#include "worker_fixture.h"

Test(port_link, each_answer_to_input_has_its_outcome)
{
    static const struct {
        const char *status, *value, *outcome;
    } rows[] = {
        {"ok", "\"a line\"", "got 'a line'"},
        {"ok", "\"\"", "got ''"},
        {"ok", "\"\\u00e4\\ud83c\\udf3e\\ud800\"", "got 'ä🌾\\ud800'"},
        {"ok", "\"\\u0004\"", "raised EOFError()"},
        {"ok", "1", "raised RuntimeError('the frontend sent a value that is no text')"},
        {"eof", "", "raised EOFError()"},
        {"error", "no stdin here", "raised RuntimeError('no stdin here')"},
    };
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        worker_send_code(&worker,
                         "try: print('got', repr(input('? ')))\n"
                         "except Exception as e: print('raised', repr(e))",
                         "");
        worker_until(&worker, LINK_ASK);
        cr_expect(eq(u64, worker.ask, i + 1), "serials count up");
        expect_in(&worker.question, "{\"prompt\":\"? \",\"password\":false}", "the question");
        worker_answer(&worker, rows[i].status, rows[i].value);
        worker_until(&worker, LINK_DONE);
        expect_in(&worker.text[0], rows[i].outcome, rows[i].value);
    }
    worker_stop(&worker);
}

Test(port_link, getpass_asks_for_a_password)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "import getpass; len(getpass.getpass('pw '))", "");
    worker_until(&worker, LINK_ASK);
    expect_in(&worker.question, "{\"prompt\":\"pw \",\"password\":true}", "the question");
    worker_answer(&worker, "ok", "\"secret\"");
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.published, "\"text/plain\":\"6\"", "its length");
    worker_stop(&worker);
}

Test(port_link, an_interrupted_question_is_withdrawn_and_its_answer_dropped)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "input('first')", "");
    worker_until(&worker, LINK_ASK);
    uint64_t first = worker.ask;
    worker_interrupt(&worker, worker.number);
    worker_until(&worker, LINK_ASK);
    cr_expect(eq(u64, worker.ask, first));
    cr_expect(zero(int, strcmp(worker_text(&worker.question), "")), "nobody waits any more");
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.reply, "KeyboardInterrupt", "the first");
    worker_answer(&worker, "ok", "\"late\"");
    worker_send_code(&worker, "input('second')", "");
    worker_until(&worker, LINK_ASK);
    cr_expect(eq(u64, worker.ask, first + 1));
    worker_answer(&worker, "ok", "\"right\"");
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.published, "'right'", "the second");
    worker_stop(&worker);
}

Test(port_link, the_end_of_the_door_ends_a_question)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_send_code(&worker, "input('never answered')", "");
    worker_until(&worker, LINK_ASK);
    link_sender_close(&worker.sender);
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.reply, "\"ename\":\"EOFError\",\"evalue\":\"the kernel ends\"", "the cell");
    worker_until(&worker, LINK_KIND_END);
    cr_expect(eq(int, worker_outcome(&worker), 0));
    worker_release(&worker);
}

Test(port_link, large_messages_arrive_whole)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_execute(&worker, "import _einkorn\n"
                            "big = bytes(5 << 20)\n"
                            "_einkorn.publish('large', {'n': len(big)}, buffers=[big, b'x', big])");
    cr_expect(eq(sz, worker.buffers, 2 * ((size_t)5 << 20) + 1));
    expect_in(&worker.published, "large {\"n\":5242880}\n", "the message");
    worker_stop(&worker);
}

Test(api, publish_takes_what_is_json_and_bytes_and_sends_nothing_else)
{
    static const struct {
        const char *call;
        const char *published; /* NULL: nothing */
        const char *outcome;   /* what was printed */
        size_t buffers;
    } rows[] = {
        {"publish('t', {'a': [1, None, 'ä']})", "t {\"a\":[1,null,\"ä\"]}\n", "fine", 0},
        {"publish(msg_type='t', content={}, metadata={'m': 1})", "t {}\n", "fine", 0},
        {"publish('t', {}, None, None)", "t {}\n", "fine", 0},
        {"publish('t', {}, buffers=[b'abc', bytearray(4), memoryview(b'12')])", "t {}\n", "fine",
         9},
        {"publish('t', {}, buffers=[memoryview(b'123456')[::2]])", "t {}\n", "fine", 3},
        {"publish('t', {}, buffers=[[1, 2]])", "t {}\n", "fine", 2},
        {"publish('t', {}, buffers=['text'])", NULL, "TypeError", 0},
        {"publish('t', {}, buffers=7)", NULL, "TypeError", 0},
        {"publish('t', {}, buffers=[b''] * 1021)", "t {}\n", "fine", 0},
        {"publish('t', {}, buffers=[b''] * 1022)", NULL, "ValueError", 0},
        {"publish('t', bad)", NULL, "ZeroDivisionError", 0},
        {"publish('t', loop)", NULL, "RecursionError", 0},
        {"publish('t', {}, {'m': bad})", NULL, "ZeroDivisionError", 0},
        {"publish('t')", NULL, "TypeError", 0},
        {"publish(1, {})", NULL, "TypeError", 0},
        {"error('E', 'v', ['line'])",
         "error {\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"line\"]}\n", "fine", 0},
        {"error('E', 'v', bad)", NULL, "ZeroDivisionError", 0},
        {"error('E')", NULL, "TypeError", 0},
        {"encode({'a': 'b'})", NULL, "fine {\"a\":\"b\"}", 0},
        {"encode(bad)", NULL, "ZeroDivisionError", 0},
        {"ask('?')", NULL, "TypeError", 0},
        {"ask(1, False)", NULL, "TypeError", 0},
    };
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char code[400];
        (void)snprintf(code, sizeof code,
                       "from _einkorn import *\n"
                       "class Bad:\n"
                       "    def __repr__(self): 1 / 0\n"
                       "bad, loop = Bad(), []\n"
                       "loop.append(loop)\n"
                       "try: print('fine', %s)\n"
                       "except Exception as e: print(type(e).__name__)",
                       rows[i].call);
        worker_execute(&worker, code);
        expect_in(&worker.published, rows[i].published, rows[i].call);
        expect_in(&worker.text[0], rows[i].outcome, rows[i].call);
        cr_expect(eq(sz, worker.buffers, rows[i].buffers), "%s", rows[i].call);
    }
    worker_stop(&worker);
}

Test(api, where_no_input_is_allowed_nobody_is_asked)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_request(&worker, "execute_request", "{\"code\":\"input()\",\"allow_stdin\":false}");
    worker_until(&worker, LINK_DONE);
    expect_in(&worker.reply, "\"ename\":\"StdinNotImplementedError\"", "the reply");
    expect_in(&worker.question, NULL, "the question");
    worker_stop(&worker);
}

Test(api, only_ask_exit_without_keepkernel_ends_the_session)
{
    static const struct {
        const char *item, *status;
    } rows[] = {
        {"{'source': 'page'}", "ok"},
        {"{'source': 'ask_exit', 'keepkernel': True}", "ok"},
        {"{'keepkernel': False}", "ok"},
        {"{'source': 5}", "ok"},
        {"'ask_exit'", "ok"},
        {"{'source': 'ask_exit'}", "exit"},
        {"{'source': 'ask_exit', 'keepkernel': False}", "exit"},
    };
    struct worker worker;
    worker_start(&worker, "0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char code[200];
        (void)snprintf(code, sizeof code, "import _einkorn; _einkorn.payload(%s)", rows[i].item);
        worker_execute(&worker, code);
        cr_expect(zero(int, strcmp(worker.status, rows[i].status)), "%s: %s", rows[i].item,
                  worker.status);
        expect_in(&worker.reply, "\"payload\":[", rows[i].item);
    }
    worker_stop(&worker);
}

Test(api, a_forked_child_has_no_connection)
{
    struct worker worker;
    worker_start(&worker, "0");
    worker_execute(&worker,
                   "import os, _einkorn\n"
                   "pid = os.fork()\n"
                   "if pid == 0:\n"
                   "    for call in (lambda: _einkorn.publish('t', {}),\n"
                   "                 lambda: _einkorn.error('E', '', []), lambda: input()):\n"
                   "        try: call()\n"
                   "        except RuntimeError as e: print(e)\n"
                   "    os._exit(0)\n"
                   "_ = os.waitpid(pid, 0)");
    expect_in(&worker.published, NULL, "the child");
    expect_in(&worker.text[0],
              "a forked child has no connection to the notebook\n"
              "a forked child has no connection to the notebook\n"
              "a forked child has no connection to the notebook\n",
              "the child");
    worker_stop(&worker);
}
