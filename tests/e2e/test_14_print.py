"""
print(): ours does what Python's own does. It gives a line as one record, so
lines of threads stay whole, and it keeps out of the way where sys.stdout does.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from client import DEADLINE, text


def out(value):
    return [("stdout", value)] if value else []


# Python's own print is what serves a StringIO.
COMPARE = """
import io

class Loud:
    def __str__(self):
        print("<", end="", file=target)
        return "loud"

class Bad:
    def __str__(self):
        raise LookupError("no text")

class Text(str):
    def __str__(self):
        return "another text"

class NoBool:
    def __bool__(self):
        raise LookupError("neither")

def attempt(stream, *values, **options):
    global target
    target = stream
    try:
        print("value:", print(*values, file=stream, **options), file=stream)
    except Exception as error:
        print("raised", type(error).__name__, error, file=stream)

def compare(call):
    own = io.StringIO()
    eval(f"attempt(own, {call})", {**globals(), "own": own})
    eval(f"attempt(sys.stdout, {call})")
    return own.getvalue()
"""

CALLS = [
    "", "''", "1", "'a'", "'a', 1, 2.5, True, None, -10**30", "[1, 'b'], (), {}, b'c', 1j",
    "1, 2, sep=''", "1, 2, sep='-'", "1, 2, sep=None", "1, end=''", "1, 2, end='|\\n', sep=', '",
    "1, end=None, flush=None", "1, flush=True", "1, flush=0", "1, flush=NoBool()",
    "'a', 'b', sep='\\u20ac', end='\\U0001f600'", "'\\u00e9' * 600", "'x' * 1023", "'x' * 1024",
    "'x' * 1025", "'x' * 1024, 'y' * 1024", "'\\u00e9' * 511, '\\u00e9', '\\u00e9'",
    "*['ab'] * 2000", "*['x' * 500] * 9, sep='-' * 100", "1, 2, sep='-' * 3000, end='+' * 3000",
    "'a\\0b\\r\\n'", "Loud()", "1, Loud(), 2, Loud()", "Loud(), 'a', end=''", "1, Bad(), 2",
    "'a', 10**5000, 'b'", "'a', Text('b'), 'c'", "1, 2, sep=Text('-')", "1, end=Text('e')",
    "1, sep=5", "1, end=b''", "1, sep=5, end=5", "1, color='red'", "*range(300)",
]


@pytest.mark.parametrize("call", CALLS)
def test_as_pythons_own(kernel, call):
    """Text, order, value and errors of every form of the call."""
    kernel.run("import sys\n" + COMPARE)
    result = kernel.execute(f"n = sys.stderr.write(compare({call!r}))")
    assert result.stdout == result.stderr != ""


def test_looks_like_pythons_own(kernel):
    assert kernel.run(
        "import builtins, copy, inspect, pickle\n"
        "print(print, print.__name__, print.__qualname__, print.__module__, print.__self__)\n"
        "print(type(print) is type(len), pickle.loads(pickle.dumps(print)) is print)\n"
        "print(copy.copy(print) is builtins.print is print)") == out(
        "<built-in function print> print print builtins <module 'builtins' (built-in)>\n"
        "True True\nTrue\n")
    script = ("import inspect\n"
              "print(inspect.signature(print), print.__text_signature__, print.__doc__)")
    assert kernel.run(f"import subprocess, sys\n{script}\n") == kernel.run(
        f"done = subprocess.run([sys.executable, '-c', {script!r}])")


def test_a_stream_without_text_or_with_another_write(kernel):
    """sys.stdout may be None, gone, or have a write of the user's."""
    assert kernel.run(
        "import sys\nfrom unittest import mock\nkeep, got = sys.stdout, []\n"
        "sys.stdout = None\nprint('lost')\ndel sys.stdout\n"
        "try: print('lost')\nexcept RuntimeError as error: got.append(str(error))\n"
        "sys.stdout = keep\n"
        "with mock.patch.object(sys.stdout, 'write', got.append): print('taken', 1)\n"
        "print('seen')\ngot") == out("seen\n") + [
        ("result", text("['lost sys.stdout', 'taken', ' ', '1', '\\n']"))]
    assert kernel.fail("type(sys.stdout).write = None").error[0] == "TypeError"


def test_a_print_of_the_users_stays(start, tmp_path):
    """sitecustomize may have put another print into builtins."""
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, sys\nbuiltins.print = lambda *values: sys.stdout.write('mine\\n')\n")
    kernel = start(env={"PYTHONPATH": str(tmp_path)})
    assert kernel.run("print('yours')\nNone") == out("mine\n")


def test_lines_of_threads_stay_whole(start, tmp_path):
    """One print is one piece, also where a full ring makes threads wait while they print."""
    kernel, fifo = start(args=["--max-output", "0"]), tmp_path / "go"
    os.mkfifo(fifo)
    started = kernel.started(
        "import threading\nprint('go')\nn = open(%r).read()\n"
        "def work(n):\n    for i in range(12000): print('thread', n, ' ' * 400, 'line', i)\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()" % str(fifo))
    os.kill(kernel.pid, signal.SIGSTOP)
    try:
        fifo.write_text("")
        wait_full(kernel.worker)
    finally:
        os.kill(kernel.pid, signal.SIGCONT)
    lines = kernel.finished(started).stdout.splitlines()
    assert sorted(lines) == sorted(["go"] + [
        f"thread {n} {' ' * 400} line {i}" for n in range(4) for i in range(12000)])


def wait_full(worker):
    """
    Until all threads are there and none has run for a while. Each prints more than the ring
    takes, so none is done before.
    """
    end, before, now = time.monotonic() + DEADLINE, None, []
    while (len(now) < 5 or now != before) and time.monotonic() < end:
        time.sleep(0.2)
        before, now = now, [task.read_text().split()[0]
                            for task in Path(f"/proc/{worker}/task").glob("*/schedstat")]


def test_what_a_value_writes_itself_stands_before_its_text(kernel):
    """A __str__ that writes to fd 1: after what was printed before it, before what it returns."""
    assert kernel.run(
        "import os\nclass Child:\n    def __str__(self):\n        os.system('echo child')\n"
        "        return 'parent'\nfor _ in range(50): print('a', Child(), 'b')") == out(
        "a child\nparent b\n" * 50)


def test_print_in_a_fork_that_begins_inside_it(kernel):
    """The child of a __str__ that forks prints on, on fd 1."""
    result = kernel.execute(
        "import os\nclass Fork:\n    def __str__(self):\n        global pid\n"
        "        pid = os.fork()\n        if pid: os.waitpid(pid, 0)\n"
        "        return 'parent' if pid else 'child'\n"
        "print('a', Fork(), 'b')\nif not pid: os._exit(0)")
    assert result.stdout == "a child b\nparent b\n"


def test_one_call_is_one_message(kernel):
    """Issue 6, "Proof": ipykernel sends what one print wrote in one piece, with whatever values."""
    kernel.run("class Value:\n    def __str__(self): return 'v'\n    __repr__ = __str__")
    for call, shown in [("print('a', 1, None, sep='-', end='!\\n')", "a-1-None!\n"),
                        ("print(Value(), 1, Value(), [Value(), 2])", "v 1 v [v, 2]\n"),
                        ("print(*map(str, range(5000)), sep='\\n')",
                         "".join(f"{n}\n" for n in range(5000)))]:
        result = kernel.execute(call)
        assert [m.content["text"] for m in result.body] == [shown]
