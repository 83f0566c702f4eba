"""One SIGINT ends one cell, and never the worker."""

import random
import signal
import time

import pytest

PING = "host._call('ping', [])\n"


def interrupted(result):
    assert (result["interrupted"], result["error"]) == (True, "Interrupted"), dict(result)
    assert result["trace"] == {"error_lineno": None, "error_call": None}


def interrupt_in(worker, code, how="interrupt"):
    """Interrupt a cell once user code runs; return its result."""
    return interrupt_within(worker, PING + code, how)


def interrupt_within(worker, code, how="interrupt"):
    """Interrupt a cell that calls the host for that; return its result."""
    cell = worker.start("import time\n" + code)
    worker.answer(worker.until_call(), lambda method, args: None)
    getattr(worker, how)()
    return worker.finish(cell)


@pytest.mark.parametrize("how", ["interrupt", "interrupt_main_thread"])
@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(30)",
        "while True: pass",
        "while True: print('x')",
        "while True: host._call('ping', [])",
        "import sys\nwhile True: sys.stderr.write('x')",
        "import threading\nthreading.Event().wait()",
        "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()",
        "import subprocess\nsubprocess.run(['sleep', '30'])",
        "import os\nos.read(os.pipe()[0], 1)",
        "import select\nselect.select([], [], [], 30)",
        "class R:\n    def __repr__(self):\n        while True: pass\nx = R()\nrepr(x)",
    ],
)
def test_an_interrupt_ends_the_cell(worker, how, code):
    worker.execute("marker = 'still here'")
    interrupted(interrupt_in(worker, code, how))
    assert worker.execute("print(marker)")["stdout"] == "still here\n"


@pytest.mark.parametrize(
    "inherited",
    [
        lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]),
    ],
    ids=["ignored", "blocked"],
)
def test_whatever_the_spawner_made_of_sigint(start, inherited):
    """`start.sh &` starts all with it ignored."""
    worker = start(before=inherited)
    worker.interrupt()
    worker.alive()
    interrupted(interrupt_in(worker, "import time\ntime.sleep(30)"))
    worker.alive()


def test_the_repr_of_an_expression_is_user_code(worker):
    worker.execute(
        "class R:\n    def __repr__(self):\n        host._call('ping', [])\n        while True: pass"
    )
    cell = worker.start("R()")
    worker.answer(worker.until_call(), lambda method, args: None)
    worker.interrupt()
    interrupted(worker.finish(cell))


def test_the_text_of_an_exception_is_user_code(worker):
    cell = worker.start(
        "class E(Exception):\n"
        "    def __str__(self):\n"
        "        host._call('ping', [])\n"
        "        while True: pass\n"
        "raise E"
    )
    worker.answer(worker.until_call(), lambda method, args: None)
    worker.interrupt()
    interrupted(worker.finish(cell))


def test_a_signal_that_other_threads_could_take_ends_the_cell(worker):
    """Six threads with SIGINT open, and the main thread with it blocked when the signal comes."""
    for _ in range(5):
        result = interrupt_in(
            worker,
            "import threading, time\n"
            "for _ in range(6): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
            "time.sleep(60)",
        )
        interrupted(result)


@pytest.mark.parametrize("code", ["import time\ntime.sleep(60)", "threading.Event().wait(60)"])
def test_a_signal_that_another_thread_takes_ends_the_cell(worker, code):
    """tgkill to a thread that is not the main one."""
    import ctypes

    worker.execute(
        "import threading, time\n"
        "def ident():\n"
        "    global tid\n"
        "    tid = threading.get_native_id()\n"
        "    ready.set()\n"
        "    time.sleep(3600)\n"
        "ready = threading.Event()\n"
        "threading.Thread(target=ident, daemon=True).start()\n"
        "ready.wait()"
    )
    tid = int(worker.execute("tid")["stdout"])
    cell = worker.start(PING + code)
    worker.answer(worker.until_call(), lambda method, args: None)
    assert ctypes.CDLL(None).tgkill(worker.pid, tid, signal.SIGINT) == 0
    interrupted(worker.finish(cell))


def test_during_a_host_call_the_call_is_abandoned(worker):
    cell = worker.start("import time\nhost._call('ping', [])\ntime.sleep(60)")
    frame = worker.until_call()
    worker.interrupt()
    interrupted(worker.finish(cell))
    worker.send({"type": "host_response", "id": frame["id"], "data": "late"})
    assert worker.execute("print(host._call('ping', []))")["stdout"] == "pong\n"


def test_idle_interrupts_are_not_owed_to_the_next_cell(worker):
    for _ in range(10):
        worker.interrupt()
    assert worker.execute("import time\ntime.sleep(0.3)\nprint('done')")["stdout"] == "done\n"
    worker.send({"type": "inspect_variables", "id": "i", "limit": 1})
    worker.interrupt()
    assert worker.read()["type"] == "variables_response"
    worker.alive()


def test_nor_where_other_threads_could_take_them(start):
    """They come just behind the response; the threads run when nobody else does, so they hand on late."""
    worker = start()
    worker.execute(
        "import os, threading, time\n"
        "def idle():\n"
        "    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
        "    time.sleep(600)\n"
        "for _ in range(30): threading.Thread(target=idle, daemon=True).start()"
    )
    for _ in range(500):
        worker.alive()
        worker.interrupt()
        worker.alive()


def test_a_second_interrupt_while_the_cell_unwinds_is_swallowed(worker):
    cell = worker.start(
        "import time\n"
        "try:\n"
        "    host._call('ping', [])\n"
        "    time.sleep(60)\n"
        "finally:\n"
        "    host._call('unwinding', [])\n"
        "    time.sleep(0.5)\n"
        "    print('unwound')"
    )
    worker.answer(worker.until_call(), lambda method, args: None)
    worker.interrupt()
    unwinding = worker.until_call("unwinding")
    for _ in range(5):
        worker.interrupt()
        time.sleep(0.05)
    worker.answer(unwinding, lambda method, args: None)
    result = worker.finish(cell)
    interrupted(result)
    assert result["stdout"] == "unwound\n"


def test_a_cell_that_catches_it_ends_normally(worker):
    result = interrupt_within(
        worker,
        "try:\n    host._call('ping', [])\n    time.sleep(60)\n"
        "except KeyboardInterrupt: print('caught')",
    )
    assert (result["interrupted"], result["error"], result["stdout"]) == (False, None, "caught\n")


def test_a_cell_that_makes_another_error_of_it(worker):
    result = interrupt_within(
        worker,
        "try:\n    host._call('ping', [])\n    time.sleep(60)\n"
        "except KeyboardInterrupt: raise ValueError('v')",
    )
    assert result["interrupted"] is False and "ValueError: v" in result["error"]
    assert result["trace"]["error_lineno"] == 5


def test_raised_by_the_cell_it_is_an_error_like_any_other(worker):
    result = worker.execute("x = 1\nraise KeyboardInterrupt('manual')")
    assert result["interrupted"] is False
    assert result["trace"]["error_lineno"] == 2


@pytest.mark.parametrize(
    "code",
    [
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass",
        "import signal\nsignal.raise_signal(signal.SIGINT)\nwhile True: pass",
        "import _thread\n_thread.interrupt_main()\nwhile True: pass",
    ],
)
def test_a_cell_may_interrupt_itself(worker, code):
    interrupted(worker.execute(code))


@pytest.mark.parametrize(
    "code",
    [
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)",
        "import signal\nsignal.signal(signal.SIGINT, lambda *a: print('mine'))",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
        "import ctypes\nctypes.CDLL(None).signal(2, 1)",
        "import asyncio\nasyncio.run(asyncio.sleep(0))",
    ],
)
def test_whatever_a_cell_does_to_sigint_the_next_can_be_interrupted(worker, code):
    assert worker.execute(code)["error"] is None
    worker.interrupt()
    worker.alive()
    interrupted(interrupt_in(worker, "import time\ntime.sleep(60)"))


def test_a_handler_of_the_cells_own_is_called(worker):
    cell = worker.start(
        "import signal, time\n"
        "came = []\n"
        "signal.signal(signal.SIGINT, lambda *a: came.append(1))\n"
        "host._call('ping', [])\n"
        "while not came: time.sleep(0.01)\n"
        "print('mine')"
    )
    worker.answer(worker.until_call(), lambda method, args: None)
    worker.interrupt()
    result = worker.finish(cell)
    assert (result["stdout"], result["interrupted"]) == ("mine\n", False)


def test_a_handler_that_raises_between_cells_ends_nothing(start):
    worker = start()
    worker.execute(
        "import signal\n"
        "def handler(*a): raise RuntimeError('from a handler')\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05)"
    )
    deadline = time.monotonic() + 20
    while "from a handler" not in worker.stderr() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "from a handler" in worker.stderr()
    worker.alive()


def test_an_interrupt_while_the_cell_is_prepared_is_owed_to_it(start):
    """The source takes long to compile: the signal comes before the first instruction."""
    worker = start()
    code = "ran = True\n" + "x = [" + "(1, 'a', [2, {3: 4}]),\n" * 60_000 + "]\n"
    cell = worker.start(code)
    deadline = time.monotonic() + 30
    while "R" not in state(worker) and time.monotonic() < deadline:
        pass  # until it has begun to read
    time.sleep(0.05)
    worker.interrupt()
    interrupted(worker.finish(cell, timeout=80))
    assert worker.execute("'ran' in globals()")["stdout"] == "False\n", "not one instruction"


def state(worker):
    with open(f"/proc/{worker.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_frame_is_whole_whenever_the_signal_comes(worker):
    """Frames larger than the pipe, and nobody reads until the signal has come."""
    for n in range(10):
        cell = worker.start(
            PING + "import sys\nwhile True: sys.stdout.write('x' * 60_000)"
        )
        worker.answer(worker.until_call(), lambda method, args: None)
        time.sleep(0.02)
        worker.interrupt()
        result = worker.finish(cell)
        interrupted(result)
        assert "".join(result.chunks) == result["stdout"]


def test_random_interrupts(start):
    """500 of them at any moment: each cell ends, by itself or by one, and none is hit by another's."""
    worker = start()
    rng = random.Random(7)
    codes = [
        "for i in range(20000): pass",
        "for i in range(100): print(i)",
        "for i in range(20): host._call('ping', [])",
        "import time\nfor i in range(20): time.sleep(0.0005)",
        "import json\nfor i in range(300): json.loads('[1, 2]')",
        "def f(n): return f(n - 1) if n else 0\nfor i in range(50): f(200)",
        "'x' * 100_000",
        "x = [object() for i in range(20000)]\ndel x",
    ]
    ended = 0
    for n in range(500):
        cell = worker.start(codes[n % len(codes)])
        time.sleep(rng.random() * 0.006)
        worker.interrupt()
        result = worker.finish(cell)
        assert result["error"] in (None, "Interrupted"), result["error"]
        assert result["interrupted"] == (result["error"] is not None)
        assert "".join(result.chunks) == result["stdout"]
        ended += result["interrupted"]
    assert 50 < ended
    worker.alive()


def test_each_of_many_interrupts_of_a_sleep_ends_it(start):
    """None may come to nothing between Python's look for signals and the system call."""
    worker = start()
    for _ in range(300):
        cell = worker.start("import time\nhost._call('ping', [])\nwhile True: time.sleep(60)")
        worker.answer(worker.until_call(), lambda method, args: None)
        worker.interrupt()
        interrupted(worker.finish(cell, timeout=20))


@pytest.mark.parametrize(
    "spoil",
    [
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.signal(signal.SIGINT, lambda number, frame: None)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
        "ctypes.CDLL(None).signal(2, ctypes.c_void_p(1))",
        "ctypes.CDLL(None).signal(2, ctypes.c_void_p(0))",
    ],
)
def test_what_a_cell_makes_of_the_signal_ends_with_it(start, spoil):
    worker = start()
    assert worker.execute("import ctypes, signal\n" + spoil)["error"] is None
    interrupted(interrupt_in(worker, "import os\nos.read(os.pipe()[0], 1)"))
    interrupted(interrupt_in(worker, "while True: pass"))
    worker.interrupt()
    worker.alive()


def test_system_calls_are_interruptible_again_in_the_next_cell(worker):
    """SA_RESTART, in the flags behind handler and mask of glibc's struct sigaction."""
    flags = (
        "import ctypes, signal\naction = ctypes.create_string_buffer(152)\n"
        "ctypes.CDLL(None).sigaction(2, None, action)\n"
        "print(int.from_bytes(action[136:140], 'little') & 0x10000000)"
    )
    spoil = "import signal\nsignal.siginterrupt(signal.SIGINT, False)\n"
    assert worker.execute(spoil + flags)["stdout"] == f"{0x10000000}\n"
    assert worker.execute(flags)["stdout"] == "0\n"
