"""Issue 7, "Proof": the chaos suite on this door; a tenth of it in the suite, all of it with --long."""

import os
import random
import signal
import time

import pytest


@pytest.fixture
def long(pytestconfig):
    return pytestconfig.getoption("--long")


def memory(worker):
    """Resident kilobytes."""
    with open(f"/proc/{worker.pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def open_fds(worker):
    return len(os.listdir(f"/proc/{worker.pid}/fd"))


def test_kills_at_any_moment(start, long):
    """The frames that came are whole, and the process is gone with the signal that ended it."""
    rng = random.Random(11)
    codes = [
        "while True: print('x' * 1000)",
        "while True: host._call('ping', [])",
        "import time\ntime.sleep(60)",
        "x = [object() for i in range(10**7)]",
    ]
    for n in range(200 if long else 20):
        worker = start()
        worker.start(codes[n % len(codes)])
        end = time.monotonic() + rng.random() * 0.05
        while (left := end - time.monotonic()) > 0:
            try:
                frame = worker.read(left)
            except AssertionError:
                break
            if frame["type"] == "host_call":
                worker.answer(frame, lambda method, args: None)
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.wait() == -signal.SIGKILL
        worker.close()


def test_bad_lines_by_the_thousand(start, long):
    """Each is answered or ignored, none is fatal, and requests between them are served."""
    rng = random.Random(12)
    worker = start()
    good = b'{"type":"execute","id":"ID","code":"print(1)"}'
    for n in range(3000 if long else 300):
        kind = n % 4
        if kind == 0:
            line = rng.randbytes(rng.randrange(1, 300)).replace(b"\n", b" ")
        elif kind == 1:
            line = bytearray(good)
            for _ in range(rng.randrange(1, 5)):
                line[rng.randrange(len(line))] = rng.choice(b'{}[]",:\\x00 1ae\xff')
            line = bytes(line)
        elif kind == 2:
            line = good[: rng.randrange(len(good))]
        else:
            line = b'{"type":"host_response","id":"hc-1-%d","data":[[[%d]]]}' % (n, n)
        worker.send(line)
        if n % 10 == 9:
            cell = f"good-{n}"
            worker.send(good.replace(b"ID", cell.encode()))
            assert worker.finish(cell)["stdout"] == "1\n"
    worker.alive()


def test_cells_leave_nothing_behind(start, long):
    """Memory and descriptors are as they were after the first fifth."""
    worker = start()
    codes = [
        "x = 1",
        "x + 1",
        "print('x' * 100)",
        "1 / 0",
        "host._call('ping', [])",
        "import sys\nsys.stderr.write('e')",
        "def f(n=0): return n\nf()",
        "open('/dev/null').read()",
    ]
    count = 10_000 if long else 1000
    for n in range(count):
        worker.execute(codes[n % len(codes)])
        if n == count // 5:
            before = memory(worker), open_fds(worker)
    after = memory(worker), open_fds(worker)
    assert after[1] == before[1]
    assert after[0] - before[0] < 2000, (before, after)


def test_interrupts_and_calls_and_cells_mixed(start, long):
    """In a session that goes on: the namespace stays, none is hit by another's interrupt."""
    rng = random.Random(13)
    worker = start()
    worker.execute("import time\ncount = 0")
    done = 0
    for _ in range(500 if long else 50):
        cell = worker.start("host._call('ping', [])\nwhile True: time.sleep(60)")
        worker.answer(worker.until_call(), lambda method, args: None)
        time.sleep(rng.random() * 0.002)
        worker.interrupt()
        assert worker.finish(cell)["interrupted"]
        result = worker.execute("count += 1\nprint(count)")
        done += 1
        assert result["stdout"] == f"{done}\n", dict(result)
