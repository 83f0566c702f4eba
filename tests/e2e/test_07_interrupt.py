"""
Issue 1, "Interrupt": whatever a cell waits for, by interrupt_request and by SIGINT
to the kernel or its group. It ends the cell and nothing else.
"""

import contextlib
import ctypes
import os
import random
import signal
import sys
import time

import pytest

from client import descendants_of, text

INTERRUPTED = ("error", "KeyboardInterrupt", "")
SOON = 2.0  # seconds; the promise is "at once", and machines may be busy


def by_message(kernel):
    kernel.interrupt()


def by_signal(kernel):
    os.kill(kernel.pid, signal.SIGINT)


def by_group(kernel):
    kernel.signal_group()


def one_by_one(kernel):
    """As VS Code does it: each descendant, then the kernel itself."""
    for pid in [*descendants_of(kernel.pid), kernel.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


WAYS = [by_message, by_signal, by_group, one_by_one]


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
    if interrupt is one_by_one:
        kernel.sockets["shell"].poll(150)  # two from strangers within 100 ms are one
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


@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.__name__)
def test_one_interrupt_ends_one_cell_of_many(kernel, way):
    """Cells that wait and do not mind an error before them all run, whole."""
    first = kernel.started(WAITS["sleep"], stop_on_error=False)
    code = "import time\ntime.sleep(0.02)\n'whole'"
    rest = [kernel.send_execute(code, stop_on_error=False) for _ in range(10)]
    way(kernel)
    assert kernel.finished(first, timeout=SOON).outputs[-1] == INTERRUPTED
    for msg_id in rest:
        assert kernel.finish_execute(msg_id, code).outputs == [("result", text("'whole'"))]


FORMATS = {
    "repr": "def __repr__(self):",
    "rich": "def _repr_html_(self):",
    "error": None,
    "expression": None,
}


@pytest.mark.parametrize("name", FORMATS)
def test_while_the_result_is_formatted(kernel, interrupt, name):
    """It ends what is formatted, and the next cell is whole."""
    head = FORMATS[name] or ("def __str__(self):" if name == "error" else "def __repr__(self):")
    code = (f"import time\nclass C(Exception):\n    {head}\n        print('go')\n"
            f"        time.sleep(60)\n")
    options = {"user_expressions": {"c": "C()"}} if name == "expression" else {}
    code += {"error": "raise C", "expression": "pass"}.get(name, "C()")
    cell = kernel.started(code, **options)
    interrupt(kernel)
    result = kernel.finished(cell, timeout=SOON)
    assert result.status == "error" and result.stdout == "go\n"
    assert result.error[0] == ("C" if name == "error" else "KeyboardInterrupt")
    assert kernel.run("import time\ntime.sleep(0.3)\n'whole'") == [("result", text("'whole'"))]


def test_while_much_is_written(kernel):
    """In the middle of a protocol write: no line is lost, torn or doubled, and it is not put off."""
    choice = random.Random(3)
    for _ in range(30):
        code = "for i in range(100_000): print(i)"
        cell = kernel.send_execute(code), code
        while not [m for m in kernel.queue["iopub"] if m.type == "stream"]:
            kernel._pull("iopub", time.monotonic() + 5)
        kernel.sockets["shell"].poll(choice.randint(0, 8))  # nothing comes: a random moment
        kernel.interrupt()
        result = kernel.finished(cell, timeout=5)
        written = result.stdout.splitlines()
        last = int(kernel.run("i")[0][1]["text/plain"])
        if result.status == "error":
            assert result.error == ("KeyboardInterrupt", "")
            whole = [str(n) for n in range(last + 1)]
            assert written in (whole, whole[:-1]), written[-3:]
        else:
            assert len(written) == 100_000


def test_a_keyboard_interrupt_of_the_users_own(kernel):
    """An ordinary error, with its line and its words."""
    result = kernel.fail("x = 1\nraise KeyboardInterrupt('mine')")
    assert result.error == ("KeyboardInterrupt", "mine")
    assert "----> 2 raise KeyboardInterrupt('mine')" in result.traceback
    assert kernel.run("x") == [("result", text("1"))]


def test_background_threads_cannot_take_it(kernel):
    """A signal that a thread was given ends the main thread's wait, and the thread goes on."""
    code = ("import threading, time\ndone = threading.Event()\n"
            "def work():\n    print(threading.get_native_id())\n    done.wait(60)\n    print('whole')\n"
            "t = threading.Thread(target=work)\nt.start()\ntime.sleep(60)")
    msg_id = kernel.send_execute(code)
    said = kernel.take("iopub", lambda m: m.type == "stream")
    tgkill = 234 if os.uname().machine == "x86_64" else 131
    assert ctypes.CDLL(None).syscall(tgkill, kernel.worker, int(said.content["text"]),
                                     signal.SIGINT) == 0
    kernel.queue["iopub"].append(said)
    assert kernel.finish_execute(msg_id, code, timeout=SOON).outputs[-1] == INTERRUPTED
    kernel.run("done.set()\nt.join()")
    late = kernel.take("iopub", lambda m: m.type == "stream")
    assert (late.content["text"], late.parent_id) == ("whole\n", msg_id)


def test_a_thread_that_signals_its_own_process(kernel):
    """Wherever it arrives, it is the cell that ends."""
    result = kernel.fail(
        "import signal, threading, time\n"
        "def work():\n    time.sleep(0.1)\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "threading.Thread(target=work).start()\ntime.sleep(60)", timeout=5)
    assert result.outputs == [INTERRUPTED]


def test_not_lost_in_a_finalizer(kernel, interrupt):
    """What finalizers raise is dropped by Python; an interrupt that hits one must not be."""
    code = ("import time\nclass C:\n    def __del__(self):\n        print('go')\n"
            "        time.sleep(60)\nC()\nprint('after')\ntime.sleep(60)")
    cell = kernel.started(code)
    interrupt(kernel)
    result = kernel.finished(cell, timeout=SOON)
    assert result.outputs == [("stdout", "go\n"), INTERRUPTED]


@pytest.mark.parametrize("flush, status", [(1, "error"), (2, "ok")])
def test_while_a_stream_of_the_users_is_flushed(kernel, interrupt, flush, status):
    """A stream that hangs does not hang the kernel; at the second flush the cell has ended."""
    code = (f"import sys, time\nreal, left = sys.stdout, {flush}\nclass Out:\n"
            "    def write(self, text): pass\n    def flush(self):\n        global left\n"
            "        left -= 1\n        if left == 0:\n            sys.stdout = real\n"
            "            print('go', file=real)\n            time.sleep(60)\nsys.stdout = Out()")
    cell = kernel.started(code)
    interrupt(kernel)
    assert kernel.finished(cell, timeout=SOON).status == status
    assert kernel.run("print('whole')") == [("stdout", "whole\n")]


def test_a_task_that_blocks_between_cells(fresh):
    """It keeps the next cell waiting: stopping that cell ends the task too, and nothing else."""
    spawn = ("import asyncio, time\nasync def block():\n    await asyncio.sleep(0.05)\n"
             "    print('blocks')\n    time.sleep(60)\n    print('never')\n"
             "t = asyncio.create_task(block())\nu = asyncio.create_task(asyncio.sleep(600))")
    fresh.run(spawn)
    late = fresh.take("iopub", lambda m: m.type == "stream")
    assert late.content["text"] == "blocks\n"
    cell = fresh.send_execute("'ran'")
    fresh.take("iopub", lambda m: m.type == "execute_input" and m.parent_id == cell)
    fresh.interrupt()
    assert fresh.reply("shell", cell, SOON).content["ename"] == "KeyboardInterrupt"
    fresh.iopub(cell)
    assert fresh.run("t.done(), u.done()") == [("result", text("(True, False)"))]
    assert fresh.run("repr(t.exception()), u.cancel()") == [
        ("result", text("('KeyboardInterrupt()', True)"))]


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
    cell = kernel.started("print('go')\ntime.sleep(1)\nprint(\"not interrupted by choice\")")
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
