"""
Issue 5, "Limits" and "Interrupt discipline": --cell-timeout interrupts, reports, then ends Python;
look-ups have a time budget of their own.
"""

import time

import pytest

from client import text, wait_gone

INTERRUPTED = ("error", "KeyboardInterrupt", "")
RAN_LONGER = "This ran longer than --cell-timeout 1 s: interrupted.\n"


@pytest.fixture
def timed(start):
    return start(args=["--cell-timeout", "1"])


LONG = {
    "loop": "while True: pass",
    "sleep": "import time\ntime.sleep(60)",
    "await": "import asyncio\nawait asyncio.sleep(60)",
    "child": "import subprocess\nsubprocess.run(['sleep', '60'])",
}


@pytest.mark.parametrize("name", LONG)
def test_a_cell_that_runs_longer_is_interrupted(timed, name):
    """With the reason, and no harm: the next cell has its own second."""
    begin = time.monotonic()
    result = timed.fail(LONG[name])
    assert 1 <= time.monotonic() - begin < 4
    assert result.outputs == [("stderr", RAN_LONGER), INTERRUPTED]
    assert timed.run("import time\ntime.sleep(0.7)\n1") == [("result", text("1"))]
    assert timed.run("time.sleep(0.7)\n2") == [("result", text("2"))]


def test_waiting_for_input_counts(timed):
    code = "input('? ')"
    msg_id = timed.send_execute(code, allow_stdin=True)
    assert timed.take("stdin").type == "input_request"
    result = timed.finish_execute(msg_id, code)
    assert result.outputs == [("stderr", RAN_LONGER), INTERRUPTED]


def test_a_cell_may_save_what_it_has(timed):
    """It catches the interrupt and ends well in its grace."""
    result = timed.execute("import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt:\n"
                           "    time.sleep(1.5)\n    print('saved')")
    assert (result.status, result.outputs) == (
        "ok", [("stderr", RAN_LONGER), ("stdout", "saved\n")])


def died_of_it(kernel, result):
    assert result.error[0] == "KernelDied"
    assert result.error[1].startswith("Python was ended by the kernel: the cell ran longer than "
                                      "--cell-timeout 1 s and did not end")
    kernel.expect_log(r"einkorn: a cell ran longer than --cell-timeout .*", r"einkorn: Python was ended by the kernel: .*")
    kernel.check_gone(status=-9)


def test_a_cell_that_does_not_end_is_reported_and_ends_python(timed):
    """Interrupt, stuck report, 5 s to read it; then the death report says why; children go too."""
    code = ("import hashlib, subprocess\nchild = subprocess.Popen(['sh', '-c', 'trap \"\" INT; sleep 60; :'])\n"
            "print(child.pid)\nhashlib.pbkdf2_hmac('sha256', b'p', b's', 10 ** 9)")
    timed.expect_log(r"einkorn: Python has not reacted to an interrupt for \d+ ms")
    begin = time.monotonic()
    result = timed.execute(code)
    assert 8 <= time.monotonic() - begin < 12
    assert result.stderr.startswith(RAN_LONGER + "Python has not reacted to the interrupt")
    assert wait_gone(int(result.stdout), 3)
    died_of_it(timed, result)


def test_a_cell_that_swallows_the_interrupt_ends_python(timed):
    """It reacted, so there is no stuck report; but it did not end."""
    result = timed.execute("import time\nwhile True:\n    try: time.sleep(60)\n"
                           "    except KeyboardInterrupt: print('no')")
    assert result.outputs[:2] == [("stderr", RAN_LONGER), ("stdout", "no\n")]
    died_of_it(timed, result)


# ---- handlers of comms -----------------------------------------------------------------

COMM = """
from einkorn import comms
import time
def work(*ignored):
    for _ in range(600): time.sleep(0.1)
def stay(*ignored):
    while True:
        try: time.sleep(60)
        except KeyboardInterrupt: print('no')
def target(comm, message):
    comm.on_msg(work)
    comm.on_close(work)
    globals().get(message['content']['data'].get('do'), len)('')
comms.get_comm_manager().register_target('slow', target)
"""
OPEN = ("comm_open", {"comm_id": "c", "target_name": "slow", "data": {}})
BUSY_OPEN = ("comm_open", {"comm_id": "c", "target_name": "slow", "data": {"do": "work"}})


def interrupted_after(kernel, option, message):
    """What a comm message's handler says on stderr: the reason, then the traceback. -> seconds"""
    begin = time.monotonic()
    messages = kernel.iopub(kernel.send("shell", *message))
    said = [m.content["text"] for m in messages if m.type == "stream"]
    assert said[0] == f"This ran longer than {option}: interrupted.\n"
    assert "KeyboardInterrupt" in said[1] and len(said) == 2
    assert messages[-1].state == "idle"
    return time.monotonic() - begin


def test_a_handler_of_a_comm_has_the_time_of_a_cell(timed):
    """As long as it has no limit of its own; the kernel goes on."""
    timed.run(COMM)
    interrupted_after(timed, "--cell-timeout 1 s", BUSY_OPEN)
    closed = timed.iopub(timed.send("shell", "comm_close", {"comm_id": "c", "data": {}}))
    assert closed[-1].state == "idle"
    assert timed.run("6 * 7") == [("result", text("42"))]


def test_each_handler_of_a_comm_has_a_time_of_its_own(start):
    """Open, message and close; a cell is not bounded by it."""
    kernel = start(args=["--comm-timeout", "0.5"])
    kernel.run(COMM)
    assert 0.5 <= interrupted_after(kernel, "--comm-timeout 0.5 s", BUSY_OPEN) < 4
    kernel.iopub(kernel.send("shell", *OPEN))
    for kind in "comm_msg", "comm_close":
        message = (kind, {"comm_id": "c", "data": {}})
        assert 0.5 <= interrupted_after(kernel, "--comm-timeout 0.5 s", message) < 4
    assert kernel.run("time.sleep(1.2)\n6 * 7") == [("result", text("42"))]


def test_a_cell_may_have_a_limit_and_the_handlers_none(start):
    kernel = start(args=["--cell-timeout", "1", "--comm-timeout", "0"])
    kernel.run(COMM + "def work(*ignored): time.sleep(1.5); print('done')")
    messages = kernel.iopub(kernel.send("shell", *BUSY_OPEN))
    assert [m.content["text"] for m in messages if m.type == "stream"] == ["done\n"]
    assert kernel.fail(LONG["sleep"]).outputs == [("stderr", RAN_LONGER), INTERRUPTED]


def test_a_handler_of_a_comm_that_does_not_end_ends_python(start):
    """The reason is where the handler speaks, the report in the last cell, for all to see."""
    kernel = start(args=["--comm-timeout", "1"])
    kernel.run(COMM)
    stay = ("comm_open", {"comm_id": "c", "target_name": "slow", "data": {"do": "stay"}})
    kernel.expect_log(r"einkorn: a handler of a comm message ran longer than --comm-timeout .*",
                      r"einkorn: Python was ended by the kernel: .*")
    opened = kernel.send("shell", *stay)
    reason = kernel.take("iopub", lambda m: m.type == "stream")
    assert reason.parent_id == opened
    assert reason.content["text"] == "This ran longer than --comm-timeout 1 s: interrupted.\n"
    report = kernel.take("iopub", lambda m: m.type == "stream" and "KernelDied" in m.content["text"])
    assert report.content["name"] == "stderr"
    assert report.content["text"].startswith(
        "KernelDied: Python was ended by the kernel: the handler of a comm message ran longer "
        "than --comm-timeout 1 s and did not end within 7 s of the interrupt")
    assert kernel.iopub(opened)[-1].state == "idle"
    kernel.check_gone(status=-9)


# ---- look-ups --------------------------------------------------------------------------


SLOW = ("import time\nclass Slow:\n    def __getattr__(self, name):\n        time.sleep(60)\n"
        "    def __dir__(self):\n        while True: pass\nslow = Slow()")
LOOK_UPS = {
    "complete_request": {"code": "slow.", "cursor_pos": 5},
    "inspect_request": {"code": "slow.a", "cursor_pos": 6, "detail_level": 0},
}


@pytest.mark.parametrize("kind", LOOK_UPS)
def test_a_look_up_has_a_budget(start, kind):
    """5 s, without any option; then its reply is an error, and the kernel is free."""
    kernel = start()
    kernel.run(SLOW)
    begin = time.monotonic()
    reply = kernel.ask("shell", kind, LOOK_UPS[kind]).content
    assert 4.9 < time.monotonic() - begin < 9
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    assert reply.get("matches", []) == []
    assert kernel.run("6 * 7") == [("result", text("42"))]


def test_a_look_up_that_swallows_the_interrupt_is_interrupted_again(start):
    kernel = start()
    kernel.run("import time\nheard = 0\nclass Slow:\n    def __dir__(self):\n        global heard\n"
               "        while heard < 2:\n            try: time.sleep(60)\n"
               "            except KeyboardInterrupt: heard += 1\n        return ['a']\nslow = Slow()")
    reply = kernel.ask("shell", "complete_request", LOOK_UPS["complete_request"]).content
    assert (reply["status"], reply["matches"]) == ("ok", ["a"])
    assert kernel.run("heard") == [("result", text("2"))]
