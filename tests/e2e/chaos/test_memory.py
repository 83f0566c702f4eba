"""
Issue 5, "Proof": 10,000 cells with state checks, flat memory in both processes, and file
descriptors flat. Mixed cells: results, errors, prints, displays, awaits, threads, children,
completions, inspections, comms.
"""

import random
import socket
import time

import pytest
import zmq

from client import CHANNELS, DELIMITER, IPYTHON, compact, text, wait_for_file
from processes import cpu_seconds, fds, fds_when_connected, resident, settled

GROWTH = 2048  # kB: issue 5, after the warm-up
KEPT = 2  # kB of a cell, as long as the bounded memories are not full

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
    fds_when_connected(kernel)
    kernel.run(SETUP)
    chance = random.Random(11)
    processes = {"kernel": kernel.pid, "worker": kernel.worker}
    # Warm is a kernel whose bounded memories are full: origins, replay window, kept cells.
    # IPython keeps more of each cell, so for it they have to be full in the short form, too.
    warm, number = (6000, 10_000) if long else (1000 if IPYTHON else 600, 900)
    for n in range(warm + number):
        chance.choice(KINDS)(kernel, n)
        if n % 50 == 0:
            assert kernel.run("state") == [("result", text(str(n)))]
        if n == warm:
            memory = {name: resident(pid) for name, pid in processes.items()}
            files = {name: fds(pid) for name, pid in processes.items()}
            filling = 0 if long else number * KEPT
            limit = {name: now + GROWTH + filling for name, now in memory.items()}
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
    fds_when_connected(kernel)
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


# --- clients ---------------------------------------------------------------------------


def lazy(kernel, channel):
    """A socket that will never be read: little room on its side, none that grows."""
    opened = kernel.context.socket(zmq.DEALER)
    opened.linger = 0
    opened.rcvhwm = 1
    opened.sndhwm = 0
    opened.setsockopt(zmq.RCVBUF, 4096)
    opened.connect(kernel.endpoint(channel))
    return opened


def frames_of(kernel, kind, content):
    parts = [compact(p) for p in (kernel.header(kind), {}, {}, content)]
    return [DELIMITER, kernel.sign(parts), *parts]


@pytest.mark.parametrize("channel", ["shell", "control"])
@pytest.mark.timeout(180)
def test_a_client_that_never_reads_its_replies(start, tmp_path, channel):
    """
    At most 10,000 replies wait for one client (sockets.h); what is more is lost to it alone, and
    the log says so. All others get theirs.
    """
    kernel = start()
    kernel.sockets["iopub"].unsubscribe(b"")  # the statuses of all this are not what we look at
    before = resident(kernel.pid)
    client = lazy(kernel, channel)
    for _ in range(30_000):
        client.send_multipart(frames_of(kernel, "kernel_info_request", {}))
    # The last one tells that all are handled: they are, in their order.
    code = f"open({str(tmp_path / 'done')!r}, 'w').close()"
    client.send_multipart(frames_of(kernel, "execute_request", {"code": code, "silent": True}))
    wait_for_file(tmp_path / "done", timeout=60)
    assert resident(kernel.pid) - before < 40_000
    kernel.expect_log(r"einkorn: kernel_info_reply dropped.*", r"einkorn: execute_reply dropped.*")
    assert "kernel_info_reply dropped" in kernel.stderr()
    for each in ("shell", "control"):
        msg_id = kernel.send(each, "kernel_info_request", {})
        assert kernel.reply(each, msg_id).content["status"] == "ok"
    client.close()
    kernel.process.terminate()
    kernel.check_gone()


def test_a_heart_that_is_not_listened_to(fresh):
    """Beats may be large: 64 of them wait for one client at most."""
    kernel = fresh
    before = resident(kernel.pid)
    client = lazy(kernel, "hb")
    for _ in range(2000):
        client.send(b"x" * 100_000)
    settled(lambda: cpu_is_idle(kernel.pid), True)
    assert resident(kernel.pid) - before < 40_000
    client.close()
    assert kernel.ping() == b"ping"


def cpu_is_idle(pid):
    before = cpu_seconds(pid)
    time.sleep(0.3)
    return cpu_seconds(pid) - before < 0.05


def test_a_thousand_connections_that_open_and_close(fresh, long):
    """Raw ones and real ones: file descriptors and memory are as before."""
    kernel = fresh

    def crowd(number):
        for each in range(number):
            port = kernel.connection[f"{CHANNELS[each % 5]}_port"]
            socket.create_connection(("127.0.0.1", port)).close()
        for _ in range(number // 10):
            other = kernel.connect(channels=("shell", "control"))
            msg_id = other.send("control", "kernel_info_request", {})
            other.reply("control", msg_id)
            kernel.iopub(msg_id)
            other.close()
            kernel.others.remove(other)

    before = fds_when_connected(kernel)
    crowd(1000)
    settled(lambda: fds(kernel.pid), before)
    assert kernel.run("1 + 1") == [("result", text("2"))]
    memory = resident(kernel.pid)
    crowd(10_000 if long else 1000)
    settled(lambda: fds(kernel.pid), before)
    assert kernel.run("1 + 1") == [("result", text("2"))]
    assert resident(kernel.pid) - memory < 2048
