"""
Issue 5, "Proof": 10,000 cells with state checks, flat memory in both processes, and file
descriptors flat. Mixed cells: results, errors, prints, displays, awaits, threads, children,
completions, inspections, comms.
"""

import random

import pytest

from client import text
from processes import fds, resident

GROWTH = 2048  # kB: issue 5, after the warm-up

SETUP = """
import asyncio, threading, os, subprocess
state, log = 0, []
class Shown:
    def __init__(self, n): self.n = n
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": f"shown {self.n}", "text/html": "<b>" + "x" * 500 + "</b>"}
def deep(n):
    return 1 // 0 if n == 0 else deep(n - 1)
async def later(n):
    await asyncio.sleep(0)
    return n
"""


def result_of(kernel, n):
    assert kernel.run(f"state = {n}\nstate") == [("result", text(str(n)))]


def error_of(kernel, n):
    failed = kernel.fail(f"state = {n}\ndeep(5)")
    assert failed.error == ("ZeroDivisionError", "integer division or modulo by zero")


def syntax_error_of(kernel, n):
    assert kernel.fail(f"state = = {n}").error[0] == "SyntaxError"
    kernel.run(f"state = {n}")


def print_of(kernel, n):
    assert kernel.run(f"state = {n}\nfor i in range(20): print(state, i)") == [
        ("stdout", "".join(f"{n} {i}\n" for i in range(20)))]


def display_of(kernel, n):
    shown, = kernel.run(f"state = {n}\ndisplay(Shown(state))")
    assert shown[1]["text/plain"] == f"shown {n}"


def await_of(kernel, n):
    assert kernel.run(f"state = {n}\nawait later(state)") == [("result", text(str(n)))]


def task_of(kernel, n):
    kernel.run(f"state = {n}\ntask = asyncio.create_task(later(state))")
    assert kernel.run("await task") == [("result", text(str(n)))]


def thread_of(kernel, n):
    assert kernel.run(f"state = {n}\nt = threading.Thread(target=print, args=(state,))\n"
                      "t.start(); t.join()") == [("stdout", f"{n}\n")]


def child_of(kernel, n):
    assert kernel.run(f"state = {n}\nrc = os.system('echo child')") == [("stdout", "child\n")]


def completion_of(kernel, n):
    kernel.run(f"state = {n}")
    reply = kernel.ask("shell", "complete_request", {"code": "sta", "cursor_pos": 3})
    assert "state" in reply.content["matches"]


def inspection_of(kernel, n):
    kernel.run(f"state = {n}")
    reply = kernel.ask("shell", "inspect_request",
                       {"code": "deep", "cursor_pos": 4, "detail_level": 0})
    assert reply.content["found"] is True


def comm_of(kernel, n):
    kernel.run(f"state = {n}")
    msg_id = kernel.send("shell", "comm_open", {"comm_id": f"c{n}", "target_name": "no such",
                                                "data": {"n": n}})
    assert "comm_close" in [m.type for m in kernel.iopub(msg_id)]


def silent_of(kernel, n):
    kernel.execute(f"state = {n}", silent=True)


def expression_of(kernel, n):
    reply = kernel.execute(f"state = {n}", user_expressions={"s": "state"}).reply
    assert reply.content["user_expressions"]["s"]["data"] == text(str(n))


KINDS = [result_of, error_of, syntax_error_of, print_of, display_of, await_of, task_of, thread_of,
         child_of, completion_of, inspection_of, comm_of, silent_of, expression_of]


@pytest.mark.timeout(1200)
def test_ten_thousand_cells(start, long):
    """State is kept all the way; after the warm-up nothing grows in either process."""
    kernel = start()
    kernel.expect_log(r"einkorn: .*")
    kernel.run(SETUP)
    chance = random.Random(11)
    processes = {"kernel": kernel.pid, "worker": kernel.worker}
    # Warm is a kernel whose bounded memories are full: origins, replay window, kept cells.
    warm, number = (6000, 10_000) if long else (600, 900)
    for n in range(warm + number):
        chance.choice(KINDS)(kernel, n)
        if n % 50 == 0:
            assert kernel.run("state") == [("result", text(str(n)))]
        if n == warm:
            memory = {name: resident(pid) for name, pid in processes.items()}
            files = {name: fds(pid) for name, pid in processes.items()}
            limit = {name: now + GROWTH for name, now in memory.items()}
    after = {name: resident(pid) for name, pid in processes.items()}
    print({name: (memory[name], after[name]) for name in processes})
    assert {name: fds(pid) for name, pid in processes.items()} == files
    assert all(after[name] <= limit[name] for name in processes), (memory, after)


@pytest.mark.timeout(600)
def test_origins_and_signatures_of_requests_are_forgotten(start, long):
    """
    What the kernel keeps of each request is bounded: the replay window's signatures, and origins of
    those that reached Python. 25,000 requests (a million in the long form) leave nothing.
    """
    kernel = start()
    kernel.sockets["iopub"].unsubscribe(b"")

    def ask(number):
        for begin in range(0, number, 500):
            last = [kernel.send("shell", "kernel_info_request", {}) for _ in range(500)][-1]
            for _ in range(500):
                reply = kernel.sockets["shell"].recv_multipart()
            assert last.encode() in reply[3]
            kernel.sent.clear()

    ask(70_000 if long else 5000)
    before = resident(kernel.pid), fds(kernel.pid)
    ask(1_000_000 if long else 20_000)
    after = resident(kernel.pid), fds(kernel.pid)
    assert after[0] - before[0] < GROWTH and after[1] == before[1], (before, after)
    kernel.process.terminate()
    kernel.check_gone()
