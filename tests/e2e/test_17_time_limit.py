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


def test_a_handler_of_a_comm_has_the_time_of_a_cell(timed):
    timed.run("from einkorn import comms\nimport time\ndef target(comm, message):\n"
              "    time.sleep(60)\ncomms.get_comm_manager().register_target('slow', target)")
    opened = timed.send("shell", "comm_open", {"comm_id": "c", "target_name": "slow", "data": {}})
    said = [m.content["text"] for m in timed.iopub(opened) if m.type == "stream"]
    assert said[0] == RAN_LONGER and "KeyboardInterrupt" in said[1]
    closed = timed.iopub(timed.send("shell", "comm_close", {"comm_id": "c", "data": {}}))
    assert closed[-1].state == "idle"
    assert timed.run("6 * 7") == [("result", text("42"))]


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
