"""
Issue 1: statuses, order, counters and abort rules of requests, whatever
the cells compute.
"""

import os

import pytest

from client import DATE, DEADLINE, text

OK = {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}


def kinds(messages):
    return [m.state or m.type for m in messages]


def test_order_of_one_cell(fresh):
    """Busy, execute_input with the count it will have, outputs, idle; count 1 at first."""
    result = fresh.execute("print('a')\n7")
    assert kinds(result.iopub) == ["busy", "execute_input", "stream", "execute_result", "idle"]
    assert result.input.content == {"code": "print('a')\n7", "execution_count": 1}
    assert result.reply.content == OK
    assert result.body[1].content["execution_count"] == 1


def test_the_reply_has_the_metadata_that_clients_read(kernel):
    """Started, status, engine, dependencies_met."""
    for code, status in (("1", "ok"), ("1/0", "error")):
        result = kernel.execute(code)
        metadata = result.reply.metadata
        assert {k: metadata.get(k) for k in ("status", "dependencies_met")} == {
            "status": status, "dependencies_met": True}
        assert metadata["engine"] == result.reply.header["session"]
        assert DATE.fullmatch(metadata["started"])
        assert result.iopub[0].header["date"] <= result.reply.header["date"]
        assert metadata["started"] <= result.reply.header["date"]  # the end, as clients take it


def test_the_reply_tells_how_long_it_waited_and_ran(kernel):
    """Timing: in metadata.einkorn, microseconds of a clock that nobody sets."""
    code = "import time\ntime.sleep(0.2)"
    first, second = kernel.send_execute(code), kernel.send_execute("1")
    first, second = (kernel.finish_execute(m, c).reply.metadata["einkorn"]
                     for m, c in ((first, code), (second, "1")))
    assert set(first) == set(second) == {"waited_us", "ran_us", "usage"}
    assert all(type(first[name]) is int and first[name] >= 0 for name in ("waited_us", "ran_us"))
    assert 200_000 <= first["ran_us"] <= 1_000_000 * DEADLINE
    assert second["waited_us"] > second["ran_us"]


def test_an_aborted_cell_has_the_metadata_too(kernel):
    """Status aborted, and that it never ran."""
    bad, queued = kernel.send_execute("import time\ntime.sleep(0.2)\n1/0"), kernel.send_execute("2")
    assert kernel.finish_execute(bad, "import time\ntime.sleep(0.2)\n1/0").status == "error"
    metadata = kernel.finish_execute(queued, "2").reply.metadata
    assert metadata["status"] == "aborted" and DATE.fullmatch(metadata["started"])
    assert metadata["einkorn"]["waited_us"] > metadata["einkorn"]["ran_us"]


def test_code_is_echoed_unchanged(kernel):
    """Execute_input has the very text, escapes and line ends included (Result compares)."""
    for code in ("'\\u00e9'", "'é😀\u2028'", "1\r\n2\r\n", "\t\n\n1 # \x7f", '"\\"\\\\/"',
                 " " * 5000):
        kernel.execute(code)


def test_counters(fresh):
    """Which cells use a number; the count a cell has is the next one."""
    assert fresh.execute("1").count == 1
    assert fresh.execute("2").count == 2
    assert fresh.execute("1/0").count == 3
    assert fresh.execute("def").count == 4
    assert fresh.execute("3", store_history=False).input.content["execution_count"] == 5
    assert fresh.execute("4").count == 5
    assert fresh.execute("5", silent=True).status == "ok"
    assert fresh.execute("6").count == 6


def test_empty_code_is_ok_and_counts_nothing(fresh):
    """Empty code: reply ok, count not advanced; the reply has an execution_count."""
    fresh.run("1")
    for code in ("", " ", "\n\n"):
        result = fresh.execute(code)
        assert result.status == "ok" and result.outputs == []
        assert type(result.count) is int
    assert fresh.execute("2").count == 2


def test_silent_cells(fresh):
    """No execute_input, no result, no count; what they print is sent; errors reply."""
    fresh.run("x = 1")
    result = fresh.execute("x = 2\nprint('said')\nx", silent=True)
    assert result.outputs == [("stdout", "said\n")]
    assert kinds(result.iopub) == ["busy", "stream", "idle"]
    assert fresh.execute("x").count == 2
    assert fresh.run("_") == [("result", text("2"))]


def test_a_silent_error_is_replied(kernel):
    """The reply of a failed silent cell is an error; nothing queued behind it is aborted."""
    first = kernel.send_execute("1/0", silent=True)
    second = kernel.send_execute("print(2)")
    reply = kernel.reply("shell", first)
    assert (reply.content["status"], reply.content["ename"]) == ("error", "ZeroDivisionError")
    shown = kinds(kernel.iopub(first))
    assert shown in (["busy", "error", "idle"], ["busy", "idle"])
    assert kernel.finish_execute(second, "print(2)").outputs == [("stdout", "2\n")]


def test_store_history_off_leaves_no_trace(fresh):
    """In, Out and the counter do not move."""
    fresh.run("first = 1\n10")
    shown = fresh.run("20", store_history=False)
    assert shown == [("result", text("20"))]
    assert fresh.run("print(len(In), sorted(Out), In[-1])") == [
        ("stdout", "3 [1] print(len(In), sorted(Out), In[-1])\n")]


def test_user_expressions(kernel):
    """peers 7.11: a mime bundle or an error each; order and other expressions are not harmed by one."""
    kernel.run("import fractions")
    wanted = {"a": "x + 1", "b": "1/0", "c": "fractions.Fraction(1, 3)", "d": "(", "e": "None",
              "f": "print('p')"}
    result = kernel.execute("x = 4", user_expressions=wanted)
    values = result.reply.content["user_expressions"]
    assert list(values) == list(wanted)
    assert values["a"] == {"status": "ok", "data": text("5"), "metadata": {}}
    assert values["c"] == {"status": "ok", "data": text("Fraction(1, 3)"), "metadata": {}}
    assert values["e"] == {"status": "ok", "data": text("None"), "metadata": {}}
    for name, ename in (("b", "ZeroDivisionError"), ("d", "SyntaxError")):
        assert set(values[name]) == {"status", "ename", "evalue", "traceback"}
        assert (values[name]["status"], values[name]["ename"]) == ("error", ename)
    assert values["f"]["status"] == "ok"
    assert result.outputs == [("stdout", "p\n")]


def test_user_expressions_only_after_success(kernel):
    """Evaluated only if the cell succeeded."""
    result = kernel.fail("1/0", user_expressions={"a": "print('never')"})
    assert result.reply.content.get("user_expressions", {}) == {}
    assert [o[0] for o in result.outputs] == ["error"]


def test_after_an_error_the_queue_is_aborted(fresh, tmp_path):
    """
    C053, with a queue that is certain: the failing cell is held until the others have arrived,
    which the reply to the kernel_info_request behind them proves.
    """
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    one = fresh.started(f"print('go')\nopen({str(gate)!r}).read()\n1 / 0")
    codes = {"print('two')": True, "print('three')": False, "print('four')": True}
    queued = {code: fresh.send_execute(code, stop_on_error=stop) for code, stop in codes.items()}
    complete = fresh.send("shell", "complete_request", {"code": "pri", "cursor_pos": 3})
    assert fresh.kernel_info("shell").content["status"] == "ok"
    gate.write_text("x")
    result = fresh.finished(one)
    assert result.error == ("ZeroDivisionError", "division by zero")
    assert result.count == 1
    for code, msg_id in queued.items():
        aborted = fresh.finish_execute(msg_id, code)
        assert aborted.status == "aborted" and type(aborted.count) is int
    assert fresh.finish(complete).reply.type == "complete_reply"
    assert fresh.execute("5").count == 2


def test_after_an_error_back_to_back(fresh):
    """
    C053 as written, peers 7.12: 1 to 4 sent back to back (the first cell takes a moment, so that the others
    are there before it fails); 5 at once when 4's reply is in; then a failing cell with
    stop_on_error false, which aborts nothing.
    """
    one = fresh.send_execute("import time\ntime.sleep(0.3)\n1 / 0")
    two = fresh.send_execute("print('two')")
    three = fresh.send_execute("print('three')", stop_on_error=False)
    info = fresh.send("shell", "kernel_info_request", {})
    complete = fresh.send("shell", "complete_request", {"code": "pri", "cursor_pos": 3})
    four = fresh.send_execute("print('four')")
    replies = [fresh.reply("shell", m).content for m in (one, two, three, four)]
    five = fresh.send_execute("print('five')")
    assert [r["status"] for r in replies] == ["error", "aborted", "aborted", "aborted"]
    assert [type(r["execution_count"]) for r in replies] == [int] * 4
    assert replies[0]["execution_count"] == 1
    result = fresh.finish_execute(five, "print('five')")
    assert (result.outputs, result.count) == ([("stdout", "five\n")], 2)
    assert kinds(fresh.iopub(one)) == ["busy", "execute_input", "error", "idle"]
    for msg_id in (two, three, four):
        assert kinds(fresh.iopub(msg_id)) == ["busy", "idle"]
    for msg_id, kind in ((info, "kernel_info_reply"), (complete, "complete_reply")):
        reply = fresh.finish(msg_id).reply
        assert (reply.type, reply.content["status"]) == (kind, "ok")
    bad = fresh.send_execute("1/0", stop_on_error=False)
    six = fresh.send_execute("print('six')")
    assert fresh.finish_execute(bad, "1/0").status == "error"
    assert fresh.finish_execute(six, "print('six')").outputs == [("stdout", "six\n")]


def test_a_cell_sent_after_the_error_is_never_aborted(kernel):
    """C053, ipykernel's race: 30 times, the next cell goes out the moment the error reply is in."""
    for n in range(30):
        bad = kernel.send_execute("1/0")
        kernel.reply("shell", bad)
        good = kernel.send_execute(f"print({n})")
        kernel.iopub(bad)
        assert kernel.finish_execute(good, f"print({n})").outputs == [("stdout", f"{n}\n")]


def test_replies_come_in_order(kernel):
    """A hundred cells queued at once: replies, counts and outputs in the order of sending."""
    codes = [f"print({n})" for n in range(100)]
    asked = [kernel.send_execute(code) for code in codes]
    counts = []
    for msg_id, code in zip(asked, codes):
        assert kernel.queue["shell"] == [] or kernel.queue["shell"][0].parent_id == msg_id
        result = kernel.finish_execute(msg_id, code)
        assert result.outputs == [("stdout", code[6:-1] + "\n")]
        counts.append(result.count)
    assert counts == list(range(counts[0], counts[0] + 100))


def test_execute_on_control(kernel):
    """Every shell request type on control too; replies go to the socket of the request."""
    assert kernel.execute("6 * 7", channel="control").outputs == [("result", text("42"))]


LATER = ["debug_request", "create_subshell_request", "delete_subshell_request",
         "list_subshell_request", "usage_request"]


@pytest.mark.parametrize("channel", ["shell", "control"])
@pytest.mark.parametrize("kind", LATER)
def test_requests_whose_time_has_not_come(kernel, kind, channel):
    """Issue: for every other known type a correct error reply until its issue comes."""
    kernel.expect_log(r"einkorn: .*")
    content = {"code": "x", "cursor_pos": 1, "hist_access_type": "tail", "n": 1, "output": False,
               "raw": True, "subshell_id": "s", "command": "debugInfo", "type": "request", "seq": 1}
    reply = kernel.ask(channel, kind, content)
    assert reply.type == kind.replace("_request", "_reply")
    assert set(reply.content) == {"status", "ename", "evalue", "traceback"}
    assert reply.content["status"] == "error"
    assert reply.content["ename"] != "" and kind in reply.content["evalue"]


@pytest.mark.parametrize("kind", ["comm_msg", "comm_close"])
def test_comm_messages_are_busy_and_idle_only(kernel, kind):
    """None of them has a reply."""
    kernel.expect_log(r"einkorn: .*")
    msg_id = kernel.send("shell", kind, {"comm_id": "c1", "data": {}}, buffers=[b"x"])
    assert kinds(kernel.iopub(msg_id)) == ["busy", "idle"]


def test_a_comm_without_a_target_is_closed(kernel):
    """Comm_open for an unknown target: comm_close with the same id, and no reply."""
    content = {"comm_id": "c\"1", "target_name": "t", "data": {"x": 1}}
    closed = kernel.iopub(kernel.send("shell", "comm_open", content))
    assert kinds(closed) == ["busy", "comm_close", "idle"]
    assert closed[1].content == {"comm_id": "c\"1", "data": {}}


def test_a_reply_type_as_request_is_unknown(kernel):
    """Busy and idle, logged, no reply."""
    kernel.expect_log(r"einkorn: .*")
    msg_id = kernel.send("shell", "execute_reply", {"status": "ok"})
    assert kinds(kernel.iopub(msg_id)) == ["busy", "idle"]


def test_control_requests_do_not_end_the_cell(kernel):
    """A control request's idle has the control request as parent."""
    kernel.run("import os; r, w = os.pipe()")
    cell = kernel.started("print('go')\nos.read(r, 1)\nprint('done')")
    info = kernel.send("control", "kernel_info_request", {})
    assert kinds(kernel.iopub(info)) == ["busy", "idle"]
    kernel.reply("control", info)
    kernel.interrupt()
    result = kernel.finished(cell)
    assert result.outputs == [("stdout", "go\n"), ("error", "KeyboardInterrupt", "")]


def test_payload_is_empty_and_ask_exit_on_exit(start):
    """Issue: exit()/quit() with the ask_exit payload; C014 5: first the reply, then the end."""
    for call in ("exit()", "quit()"):
        kernel = start()
        result = kernel.execute(f"print('bye')\n{call}")
        assert result.outputs == [("stdout", "bye\n")]
        assert result.reply.content["payload"] == [{"source": "ask_exit", "keepkernel": False}]
        kernel.check_gone(status=0)


def test_exit_can_keep_the_kernel(kernel):
    """Exit(keep_kernel=True)."""
    result = kernel.execute("exit(keep_kernel=True)")
    assert result.reply.content["payload"] == [{"source": "ask_exit", "keepkernel": True}]
    assert kernel.execute("1").reply.content["payload"] == []


def payload(kernel, code):
    return kernel.execute(code).reply.content["payload"]


def test_set_next_input(kernel):
    """Issue: set_next_input payloads; of several in a cell the last one counts, as in ipykernel."""
    assert payload(kernel, "import einkorn\neinkorn.set_next_input('x = 1')") == [
        {"source": "set_next_input", "text": "x = 1", "replace": False}]
    assert payload(kernel, "einkorn.set_next_input('a')\neinkorn.page('p')\n"
                           "einkorn.set_next_input('é\\n', replace=True)") == [
        {"source": "set_next_input", "text": "é\n", "replace": True},
        {"source": "page", "data": {"text/plain": "p"}, "start": 0}]
    assert payload(kernel, "1") == []
    assert kernel.fail("einkorn.set_next_input(5)").error == (
        "TypeError", "text must be str, not int")
    failed = kernel.fail("einkorn.set_next_input('again')\n1/0")
    assert failed.reply.content["payload"] == [
        {"source": "set_next_input", "text": "again", "replace": False}]
    assert payload(kernel, "1") == []


def test_page(kernel):
    """Issue: page payloads, of a text or of representations; what cannot be sent is an error."""
    kernel.run("import einkorn")
    assert payload(kernel, "einkorn.page('one\\ntwo', start=1)") == [
        {"source": "page", "data": {"text/plain": "one\ntwo"}, "start": 1}]
    assert payload(kernel, "einkorn.page({'text/plain': 'a', 'text/html': '<b>a</b>', "
                           "'image/png': b'\\x89'}, -3)") == [
        {"source": "page", "start": 0,
         "data": {"text/plain": "a", "text/html": "<b>a</b>", "image/png": "iQ=="}}]
    for wrong in ("5", "['a']", "{'plain': 'a'}", "{5: 'a'}"):
        assert kernel.fail(f"einkorn.page({wrong})").error == (
            "TypeError", "content must be str, or a dict whose keys are MIME types")
    wrong = kernel.fail("loop = []\nloop.append(loop)\neinkorn.page({'text/plain': loop})")
    assert wrong.error[0] == "RecursionError"
    assert wrong.reply.content["payload"] == []


def test_payloads_are_the_cells_that_makes_them(fresh):
    """No name of ours in the user's namespace; a task or thread whose cell has ended is told."""
    before = fresh.run("print(sorted(globals()))")
    assert "einkorn" not in before[0][1]
    fresh.run("import threading\ngo = threading.Event()\nsaid = []\ndef late():\n    import einkorn\n"
              "    go.wait()\n    try:\n        einkorn.set_next_input('late')\n"
              "    except RuntimeError as error:\n        said.append(str(error))\n"
              "thread = threading.Thread(target=late)\nthread.start()")
    result = fresh.execute("go.set()\nthread.join()\nprint(said)")
    assert result.outputs == [("stdout", "['the cell has its reply already']\n")]
    assert result.reply.content["payload"] == []


def test_help_needs_no_pager(kernel):
    """help() and pydoc print and return at once, whatever PAGER says; help() asks over stdin."""
    for code in ("help(len)", "import os\nos.environ['PAGER'] = os.environ['MANPAGER'] = 'sleep 600'\n"
                 "import pydoc\npydoc.pager('Return the number of items\\n' * 500)\npydoc.help(len)"):
        result = kernel.execute(code)
        assert (result.status, result.stderr) == ("ok", "")
        assert "Return the number of items" in result.stdout
        assert result.reply.content["payload"] == []
    msg_id = kernel.send_execute("help()", allow_stdin=True)
    for answer in ("len", "quit"):
        request = kernel.take("stdin")
        assert request.content == {"prompt": "help> ", "password": False}
        kernel.answer(request, answer)
    assert "Return the number of items" in kernel.finish_execute(
        msg_id, "help()", allow_stdin=True).stdout
    assert kernel.fail("help()").error[0] == "StdinNotImplementedError"
