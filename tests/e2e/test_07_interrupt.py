"""
Issue 1, "Interrupt": whatever a cell waits for, by interrupt_request and by SIGINT
to the kernel or its group. It ends the cell and nothing else.
"""

import contextlib
import os
import random
import signal
import sys

import pytest

from client import text

INTERRUPTED = ("error", "KeyboardInterrupt", "")
SOON = 2.0  # seconds; the promise is "at once", and machines may be busy


def by_message(kernel):
    kernel.interrupt()


def by_signal(kernel):
    os.kill(kernel.pid, signal.SIGINT)


def by_group(kernel):
    kernel.signal_group()


WAYS = [by_message, by_signal, by_group]


@pytest.fixture(params=WAYS, ids=lambda w: w.__name__)
def interrupt(request):
    return request.param


WAITS = {
    "loop": "print('go')\nwhile True: pass",
    "loop in C": "import re\nprint('go')\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "sleep": "import time\nprint('go')\ntime.sleep(60)",
    "lock": "import threading\nl = threading.Lock()\nx = l.acquire()\nprint('go')\nl.acquire()",
    "join": "import threading, time\n"
            "t = threading.Thread(target=time.sleep, args=(5,), daemon=True)\n"
            "t.start()\nprint('go')\nt.join()",
    "await": "import asyncio\nprint('go')\nawait asyncio.sleep(60)",
    "gather": "import asyncio\nprint('go')\n"
              "await asyncio.gather(asyncio.sleep(60), asyncio.sleep(70))",
    "async loop": "import asyncio\nprint('go')\nwhile True: await asyncio.sleep(0)",
    "sleep in a coroutine": "import time\nasync def c():\n    time.sleep(60)\n"
                            "print('go')\nawait c()",
    "os.system": "import os\nprint('go')\nos.system('sleep 5')\nimport time\ntime.sleep(30)",
    "subprocess.run": "import subprocess\nprint('go')\nsubprocess.run(['sleep', '60'])",
    "subprocess in a shell": "import subprocess\nprint('go')\n"
                             "subprocess.run('sleep 60; true', shell=True)",
    "read of a pipe": "import os\nr, w = os.pipe()\nprint('go')\nos.read(r, 1)",
    "select": "import select\nprint('go')\nselect.select([], [], [], 60)",
}


@pytest.mark.parametrize("name", WAITS)
def test_interrupt(kernel, interrupt, name):
    """peers 7.13: each wait ends at once in KeyboardInterrupt: one error; the next cell runs."""
    cell = kernel.started(WAITS[name])
    interrupt(kernel)
    result = kernel.finished(cell, timeout=SOON)
    assert result.outputs[-1] == INTERRUPTED
    assert "".join(o[1] for o in result.outputs if o[0] == "stdout") == "go\n"
    assert result.stderr == ""
    assert kernel.run("6 * 7") == [("result", text("42"))]


def test_os_system_returns_when_its_child_is_hit(kernel, interrupt):
    """os.system('sleep 5') alone: SIGINT goes to the child too, and the cell ends."""
    code = "import os\nprint('go')\nrc = os.system('sleep 5')"
    cell = kernel.started(code)
    interrupt(kernel)
    result = kernel.finished(cell, timeout=SOON)
    assert result.outputs in ([("stdout", "go\n")], [("stdout", "go\n"), INTERRUPTED])
    assert kernel.run("6 * 7") == [("result", text("42"))]


def test_await_cleans_up(kernel, interrupt):
    """C011: finally blocks run, the loop survives."""
    code = ("import asyncio\nprint('go')\ntry:\n    await asyncio.sleep(10)\n"
            "    print(\"finished\")\nfinally:\n    print(\"cleanup\")")
    cell = kernel.started(code)
    interrupt(kernel)
    assert kernel.finished(cell, timeout=SOON).outputs == [("stdout", "go\ncleanup\n"), INTERRUPTED]
    assert kernel.run("import asyncio\nx = await asyncio.sleep(0.01, \"loop ok\")\nx") == [
        ("result", text("'loop ok'"))]


def test_an_event_loop_that_never_rests(kernel, interrupt):
    """The interrupt may strike inside asyncio itself, between two steps of the cell: 60 times."""
    for _ in range(60):
        cell = kernel.started(WAITS["async loop"])
        interrupt(kernel)
        result = kernel.finished(cell, timeout=SOON)
        assert result.outputs == [("stdout", "go\n"), INTERRUPTED]


def test_the_first_await_is_interrupted(start, interrupt):
    """asyncio is being imported perhaps; half of it must not be what later cells get."""
    for wait in range(6):
        kernel = start()
        cell = kernel.started(WAITS["sleep in a coroutine"])
        kernel.sockets["shell"].poll(wait)
        interrupt(kernel)
        result = kernel.finished(cell, timeout=SOON)
        assert result.outputs == [("stdout", "go\n"), INTERRUPTED]
        assert kernel.run("import asyncio\nawait asyncio.sleep(0, 'whole')") == [
            ("result", text("'whole'"))]


def test_a_second_one_after_a_swallowed_first(kernel, interrupt):
    """peers 7.13: a second interrupt after a swallowed first. It is due once the text has been seen."""
    code = ("import time\nprint('go')\ntry:\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    print('swallowed')\ntime.sleep(60)")
    cell = kernel.started(code)
    interrupt(kernel)
    swallowed = kernel.take("iopub", lambda m: m.type == "stream" and
                            m.content["text"] == "swallowed\n", SOON)
    kernel.queue["iopub"].append(swallowed)
    interrupt(kernel)
    result = kernel.finished(cell, timeout=SOON)
    assert result.outputs == [("stdout", "go\nswallowed\n"), INTERRUPTED]


def test_one_interrupt_interrupts_once(kernel, interrupt):
    """One interrupt is one KeyboardInterrupt: what a cell does after catching it goes on."""
    code = ("import time\nprint('go')\ntry:\n    time.sleep(60)\n"
            "except KeyboardInterrupt:\n    pass\ntime.sleep(0.4)\nprint('went on')")
    cell = kernel.started(code)
    interrupt(kernel)
    assert kernel.finished(cell).outputs == [("stdout", "go\nwent on\n")]


def test_idle_is_left_alone(kernel, interrupt):
    """peers 7.13: idle: ignored. The next cell is not hit by it."""
    for _ in range(5):
        interrupt(kernel)
    kernel.kernel_info("control")
    assert kernel.run("import time\ntime.sleep(0.3)\n'whole'") == [("result", text("'whole'"))]


@pytest.mark.parametrize("way", [by_signal, by_group], ids=lambda w: w.__name__)
def test_a_signal_before_a_request_does_not_hit_it(kernel, way):
    """Idle: ignored, also when the next request is there before the kernel looks."""
    for _ in range(40):
        way(kernel)
        assert kernel.run("import time\ntime.sleep(0.005)\n'whole'") == [
            ("result", text("'whole'"))]


def test_a_queued_cell_after_an_interrupt_is_aborted(kernel, tmp_path):
    """An interrupted cell is a failed one: stop_on_error holds for what was queued."""
    cell = kernel.started("import time\nprint('go')\ntime.sleep(60)")
    queued = kernel.send_execute("print('never')")
    kernel.kernel_info("shell")  # the queued cell has arrived
    kernel.interrupt()
    assert kernel.finished(cell, timeout=SOON).outputs[-1] == INTERRUPTED
    assert kernel.finish_execute(queued, "print('never')").status == "aborted"


@contextlib.contextmanager
def sigint_blocked():
    """Processes started meanwhile begin with SIGINT blocked: what comes before main() waits."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_during_start_it_is_harmless(start):
    """Issue: during start: harmless. SIGINTs at random moments until the first reply."""
    for _ in range(8):
        with sigint_blocked():
            kernel = start(ready=False)
        for _ in range(5):
            kernel.signal_group()
            kernel.sockets["iopub"].poll(random.randint(0, 6))
        kernel.welcome()
        kernel.signal_group()
        assert kernel.run("1 + 1") == [("result", text("2"))]


def test_an_interrupt_before_python_is_ready(start, tmp_path):
    """interrupt_request while Python starts: answered, and a cell queued then is not harmed."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "sitecustomize.py").write_text(f"open({str(gate)!r}).close()\n")
    kernel = start(ready=False, env={"PYTHONPATH": str(tmp_path)})
    kernel.welcome()
    queued = kernel.send_execute("1 + 1")
    assert kernel.ask("control", "interrupt_request").content == {"status": "ok"}
    open(gate, "w").close()  # now Python goes on
    assert kernel.finish_execute(queued, "1 + 1").outputs == [("result", text("2"))]


def test_the_reply(kernel):
    """Content {status: ok}, also when idle."""
    assert kernel.interrupt().content == {"status": "ok"}
    assert kernel.ask("shell", "interrupt_request").content == {"status": "ok"}


LAUNCHER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("way", [by_message, by_group], ids=lambda w: w.__name__)
def test_started_with_sigint_ignored_and_blocked(start, way):
    """C063."""
    kernel = start(launcher=[sys.executable, "-c", LAUNCHER])
    code = ("import signal, time\n"
            "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
            "time.sleep(5)\nprint(\"slept\")")
    cell = kernel.started(code, mark="True\n")
    way(kernel)
    assert kernel.finished(cell, timeout=SOON).outputs == [("stdout", "True\n"), INTERRUPTED]
    assert kernel.run(
        "import subprocess\nr = subprocess.run([\"grep\", \"-E\", \"Sig(Ign|Blk)\", "
        "\"/proc/self/status\"], capture_output=True, text=True).stdout.split()\n"
        "print(int(r[1], 16) & 2, int(r[3], 16) & 2)") == [("stdout", "0 0\n")]
    assert kernel.run("signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint(\"set\")") == [
        ("stdout", "set\n")]
    assert kernel.run("time.sleep(1)\nprint(\"not interrupted by choice\")") == [
        ("stdout", "not interrupted by choice\n")]
    cell = kernel.started("print('go')\ntime.sleep(0.5)\nprint(\"not interrupted by choice\")")
    way(kernel)
    assert kernel.finished(cell).outputs == [("stdout", "go\nnot interrupted by choice\n")]


def test_signal_dispositions_of_children(kernel):
    """A child of a cell neither ignores nor blocks any of the classic signals."""
    assert kernel.run(
        "import subprocess\nr = subprocess.run(['grep', '-E', 'Sig(Blk|Ign)', "
        "'/proc/self/status'], capture_output=True, text=True).stdout.split()\n"
        "[int(r[1], 16) & 0x7fffffff, int(r[3], 16) & 0x7fffffff]") == [
            ("result", text("[0, 0]"))]


def test_a_handler_of_the_users_own(kernel, interrupt):
    """Issue and C063: the user's choice is respected in that cell."""
    code = ("import signal, time\nhits = []\n"
            "old = signal.signal(signal.SIGINT, lambda *a: hits.append(1))\nprint('go')\n"
            "end = time.monotonic() + 20\n"
            "while not hits and time.monotonic() < end: time.sleep(0.05)\n"
            "previous = signal.signal(signal.SIGINT, old)\nlen(hits) > 0")
    cell = kernel.started(code)
    interrupt(kernel)
    assert kernel.finished(cell, timeout=SOON).outputs == [
        ("stdout", "go\n"), ("result", text("True"))]
    cell = kernel.started(WAITS["sleep"])
    interrupt(kernel)
    assert kernel.finished(cell, timeout=SOON).outputs[-1] == INTERRUPTED


def test_a_signal_to_oneself_is_forwarded(kernel):
    """A SIGINT that user code sends to its own process is forwarded as it is."""
    result = kernel.fail("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\n"
                         "time.sleep(60)", timeout=5)
    assert result.outputs == [INTERRUPTED]
    assert kernel.run("import _thread\ntry:\n    _thread.interrupt_main()\n    "
                      "import time; time.sleep(1)\nexcept KeyboardInterrupt:\n    print('caught')"
                      ) == [("stdout", "caught\n")]


def test_a_signal_straight_to_the_worker_is_an_interrupt(kernel):
    """VS Code signals descendants one by one; two within 100 ms are one."""
    cell = kernel.started(WAITS["sleep"])
    os.kill(kernel.worker, signal.SIGINT)
    os.kill(kernel.pid, signal.SIGINT)
    assert kernel.finished(cell, timeout=SOON).outputs[-1] == INTERRUPTED
    os.kill(kernel.worker, signal.SIGINT)  # idle: ignored
    assert kernel.run("import time\ntime.sleep(0.3)\n1") == [("result", text("1"))]


def test_the_frame_of_an_interrupt_is_the_cells(kernel):
    """None of our frames in the traceback."""
    cell = kernel.started(WAITS["sleep"])
    kernel.interrupt()
    shown = kernel.finished(cell, timeout=SOON).traceback
    assert "line 3" in shown and "time.sleep(60)" in shown and "einkorn" not in shown


def test_a_child_that_ignores_it_does_not_hold_the_cell(kernel):
    """subprocess.run kills such a child after its own short grace, and the cell ends."""
    code = ("import subprocess\nprint('go')\n"
            "subprocess.run(['sh', '-c', 'trap \"\" INT; exec sleep 30'])")
    cell = kernel.started(code)
    kernel.interrupt()
    assert kernel.finished(cell, timeout=SOON).outputs[-1] == INTERRUPTED


def test_two_hundred_at_random_moments(fresh):
    """
    peers 7.13: loops of prints and sleeps, hit at random moments: every cell has its reply and
    its idle, and the session's state is kept.
    """
    fresh.run("import time\nkept = []")
    worker = fresh.worker
    choice = random.Random(7)
    for n in range(200):
        code = f"kept.append({n})\nfor i in range(10 ** 9):\n    print({n})\n    time.sleep(0.0005)"
        msg_id = fresh.send_execute(code, stop_on_error=False)
        fresh.take("iopub", lambda m: m.type == "execute_input" and m.parent_id == msg_id)
        fresh.sockets["shell"].poll(choice.randint(0, 20))  # nothing comes: a random moment
        choice.choice(WAYS)(fresh)
        reply = fresh.reply("shell", msg_id, SOON)
        assert reply.content["ename"] == "KeyboardInterrupt"
        rest = fresh.iopub(msg_id)
        assert [m.type for m in rest if m.type not in ("stream", "status")] == ["error"]
        assert all(set(m.content["text"].split()) <= {str(n)} for m in rest if m.type == "stream")
    assert fresh.worker == worker
    assert fresh.run("len(kept) > 0, kept == sorted(set(kept) & set(range(200)))") == [
        ("result", text("(True, True)"))]
