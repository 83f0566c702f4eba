"""
Issue 5, "Limits": --memory-limit bounds what Python may use; what asks for more gets a
MemoryError, and Python lives on.
"""

import os
import resource

import pytest

from client import run_kernel, text

@pytest.fixture
def limited(start):
    return start(args=["--memory-limit", "200M"])


FILLS = {
    "at once": "x = bytearray(10 ** 9)",
    "in large pieces": "x = []\nwhile True: x.append(bytearray(10 ** 6))",
    "in small pieces": "x = []\nwhile True: x.append(bytes(100))",
    "in a dictionary": "x = {}\nwhile True: x[len(x)] = str(len(x))",
    "in a function": "def f():\n    kept = []\n    while True: kept.append([0] * 1000)\nf()",
    "in a thread": "import threading\nx = []\ndef f():\n    while True: x.append(bytes(100))\n"
                   "t = threading.Thread(target=f)\nt.start()\nt.join()\nx.append(bytes(10 ** 7))",
}


@pytest.mark.parametrize("name", FILLS)
def test_a_cell_gets_a_memory_error(limited, name):
    """Python lives on with its state, although what filled the memory is still there."""
    limited.run("before = 'kept'")
    worker = limited.worker
    result = limited.fail(FILLS[name])
    assert result.error[0] == "MemoryError"
    assert limited.run("before") == [("result", text("'kept'"))]
    limited.run("x = t = f = None")
    assert limited.run("len(bytearray(10 ** 7))") == [("result", text("10000000"))]
    assert limited.worker == worker


def test_again_and_again(limited):
    """The memory stays full: each cell gets its error, none ends Python."""
    limited.fail(FILLS["in small pieces"])
    for _ in range(20):
        assert limited.fail("x.append(bytearray(10 ** 8))").error[0] == "MemoryError"
    assert limited.run("del x\n6 * 7") == [("result", text("42"))]


def test_output_where_nothing_is_left(limited):
    """What Python has to say still comes out."""
    limited.fail(FILLS["in small pieces"])
    assert limited.run("print('said')") == [("stdout", "said\n")]
    assert limited.run("import sys\nsys.stderr.write('said too')") == [
        ("stderr", "said too"), ("result", text("8"))]
    assert limited.fail("1 / 0").error == ("ZeroDivisionError", "division by zero")


def test_the_limit_holds_for_children(limited):
    """Each process has it for itself."""
    code = ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', "
            "'try: bytearray(10 ** 9)\\nexcept MemoryError: print(\"limited\")'],\n"
            "               capture_output=True, text=True).stdout")
    assert limited.run(code) == [("result", text("'limited\\n'"))]
    assert limited.run("import os\npid = os.fork()\nif pid == 0:\n    try: bytearray(10 ** 9)\n"
                       "    except MemoryError: os._exit(3)\n    os._exit(0)\n"
                       "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])") == [
        ("result", text("3"))]


def test_it_cannot_be_raised(limited):
    code = ("import resource\ntry: resource.setrlimit(resource.RLIMIT_DATA, (10 ** 12, 10 ** 12))\n"
            "except (ValueError, PermissionError): print('no')\n"
            "resource.getrlimit(resource.RLIMIT_DATA)")
    expected = [("result", text(f"({200 << 20}, {200 << 20})"))]
    if os.geteuid() != 0:  # root may
        expected.insert(0, ("stdout", "no\n"))
        assert limited.run(code) == expected
    else:
        assert limited.run(code.splitlines()[0] + "\n" + code.splitlines()[-1]) == expected


def test_addresses_that_are_only_reserved_are_free(limited):
    """Why it is RLIMIT_DATA: torch, jemalloc and CUDA reserve far more than they use."""
    assert limited.run("import mmap\nroom = mmap.mmap(-1, 1 << 36, mmap.MAP_PRIVATE | "
                       "mmap.MAP_ANONYMOUS, prot=0)\nlen(room) >> 36") == [
        ("result", text("1"))]


def test_large_output_under_a_limit(limited):
    """The way out of Python is memory that both processes share, and no part of the limit."""
    (kind, data), = limited.run("from IPython.display import HTML\nHTML('x' * 20_000_000)")
    assert kind == "result" and len(data["text/html"]) == 20_000_000


def test_a_limit_that_leaves_no_room_for_python(tmp_path):
    """Refused before anything is started, with what is needed."""
    done = run_kernel("kernel", "--memory-limit", "1M", "-f", tmp_path / "kernel.json")
    assert done.returncode == 2
    assert "--memory-limit" in done.stderr and "32M" in done.stderr


def test_no_limits_without_the_options(kernel):
    assert kernel.run("import resource\nresource.getrlimit(resource.RLIMIT_DATA)") == [
        ("result", text(f"{resource.getrlimit(resource.RLIMIT_DATA)}"))]
