"""What batch runners depend on when something goes wrong: C065, C069, C014."""

import os
import select
import time

import pytest
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from shown import of_cell, of_notebook

PID = "import os\nprint(os.getppid(), os.getpid())"


def pids(notebook):
    """The kernel's and the worker's pid, as the first cell printed them."""
    (_, printed), = of_cell(notebook.cells[0])
    return [int(pid) for pid in printed.split()]


def gone(pid, timeout):
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poller = select.poll()  # select() takes no fd above 1023
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(timeout * 1000))
    finally:
        os.close(fd)


@pytest.mark.parametrize("last, named", [
    ("import os, signal\nprint(\"about to die\", flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
     "SIGKILL"),
    ("import os\nprint(\"about to die\", flush=True)\nos._exit(7)", "exit status 7"),
], ids=["SIGKILL", "exit"])
def test_a_kernel_that_dies(execute, last, named):
    """C065: the runner fails within 5 s and knows why; what the cells wrote is kept."""
    kept = []
    begin = time.monotonic()
    with pytest.raises((CellExecutionError, DeadKernelError)) as caught:
        execute([PID, last, "print('never')"], kept, timeout=None)
    assert time.monotonic() - begin < 8
    if caught.type is CellExecutionError:
        assert named in str(caught.value)
    notebook, = kept
    assert of_cell(notebook.cells[1])[0] == ("stdout", "about to die\n")
    assert of_cell(notebook.cells[2]) == []
    assert all(gone(pid, 3) for pid in pids(notebook))


def test_a_time_limit_interrupts(execute):
    """C069, run 1: a loop without any call is interrupted, the next cell runs."""
    begin = time.monotonic()
    shown = of_notebook(execute(["while True:\n    continue", "print(\"done\")"], timeout=2,
                                interrupt_on_timeout=True, allow_errors=True))
    assert shown == [[("error", "KeyboardInterrupt", "")], [("stdout", "done\n")]]
    assert time.monotonic() - begin < 8


def test_a_cell_may_catch_the_interrupt(execute):
    """C069, run 2: no error, and the partial result is there."""
    cell = ("import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
            "    print(\"saved partial result\")")
    shown = of_notebook(execute([cell, "print(\"done\")"], timeout=2, interrupt_on_timeout=True,
                                allow_errors=True))
    assert shown == [[("stdout", "saved partial result\n")], [("stdout", "done\n")]]


def test_a_time_limit_without_interrupt_ends_the_kernel(execute):
    """C069, run 3: CellTimeoutError names the cell; the kernel is gone within 5 s."""
    kept = []
    with pytest.raises(CellTimeoutError) as caught:
        execute([PID, "while True:\n    continue"], kept, timeout=2)
    assert "while True:" in str(caught.value)
    assert all(gone(pid, 5) for pid in pids(kept[0]))


def test_an_error_stops_the_run(execute):
    """CellExecutionError with the cell's error; later cells do not run."""
    kept = []
    with pytest.raises(CellExecutionError) as caught:
        execute(["x = 1", "1 / 0", "print('never')"], kept)
    assert (caught.value.ename, caught.value.evalue) == ("ZeroDivisionError", "division by zero")
    assert kept[0].cells[2].outputs == []


@pytest.mark.parametrize("code, evalue", [
    ("import sys\nsys.exit()", ""), ("raise SystemExit(0)", "0"),
    ("import sys\nsys.exit('t')", "t"),
])
def test_system_exit_is_an_error_of_the_cell(execute, code, evalue):
    """C014: papermill decides by ename and evalue; the kernel lives on."""
    shown = of_notebook(execute([code, "print('kept')"], allow_errors=True))
    assert shown == [[("error", "SystemExit", evalue)], [("stdout", "kept\n")]]


def test_input_fails_at_once(execute):
    """C021: batch runners do not allow stdin."""
    shown = of_notebook(execute(["input('q? ')"], allow_errors=True))
    assert shown == [[("error", "StdinNotImplementedError",
                       "raw_input was called, but this frontend does not support input requests.")]]


def test_nothing_is_left_after_a_run(execute):
    """Kernel and worker have ended when execute() returns, or right after."""
    notebook = execute([PID, "import subprocess\n"
                             "p = subprocess.Popen(['sleep', '60'])\nprint(p.pid)"])
    (_, child), = of_cell(notebook.cells[1])
    assert all(gone(pid, 1) for pid in [*pids(notebook), int(child)])
