"""
Comm messages while a cell runs.

Issue 6, "Display and comms": comm messages are handled during `await`, between cells, and through
a public call inside a running cell (`einkorn.process_messages()`). Each has its own busy and idle,
and what its handler says is its own.
"""

import os
import signal

import pytest

from client import plain, text

SETUP = """
import asyncio, einkorn, os, sys, threading, time
from einkorn import comms
heard = []
def take(message):
    data = message["content"]["data"]
    heard.append(data.get("n"))
    exec(data.get("run", ""), globals(), {"message": message, "comm": comm})
def target(new, message):
    global comm
    comm = new
    comm.on_msg(take)
comms.get_comm_manager().register_target("t", target)
"""

# Cells that go on until a handler has set `done`, once by awaiting and once by asking.
AWAIT = "done = asyncio.Event()\nprint('go')\nawait done.wait()\nprint('end')"
ASK = "done = threading.Event()\nprint('go')\nwhile not done.is_set():\n    einkorn.process_messages()\nprint('end')"
both = pytest.mark.parametrize("cell", [AWAIT, ASK], ids=["await", "process_messages"])


@pytest.fixture
def open_comm(kernel):
    kernel.run(SETUP)
    kernel.iopub(kernel.send("shell", "comm_open", {"comm_id": "c", "target_name": "t", "data": {}}))
    yield kernel
    kernel.iopub(kernel.send("shell", "comm_close", {"comm_id": "c", "data": {}}))


def say(kernel, run="", n=None, buffers=()):
    return kernel.send("shell", "comm_msg", {"comm_id": "c", "data": {"run": run, "n": n}},
                       buffers=buffers)


def order(kernel, *ids):
    """All IOPub messages of these requests in the order in which they came, up to the last idle."""
    found, left = [], set(ids)
    while left:
        message = kernel.take("iopub", lambda m: m.parent_id in ids)
        found.append((ids.index(message.parent_id), message))
        if message.state == "idle":
            left.discard(message.parent_id)
    return found


def short(found):
    return [(who, m.state or (m.content["text"] if m.type == "stream" else m.type)) for who, m in found]


@both
def test_a_handler_speaks_for_its_message_and_the_cell_goes_on(open_comm, cell):
    """busy(comm) … idle(comm) inside of the cell's, both with their own parents."""
    kernel = open_comm
    running = kernel.started(cell)
    message = say(kernel, "print('mine'); print('loud', file=sys.stderr); os.write(1, b'fd\\n');"
                          "os.system('echo child'); comm.send({'x': 1}, None, [b'ab', b'']); done.set()")
    found = short(order(kernel, running[0], message))
    kernel.reply("shell", running[0])
    assert found == [(0, "busy"), (0, "execute_input"), (0, "go\n"), (1, "busy"), (1, "mine\n"),
                     (1, "loud\n"), (1, "fd\nchild\n"), (1, "comm_msg"), (1, "idle"), (0, "end\n"),
                     (0, "idle")]


@both
def test_messages_are_handled_in_their_order(open_comm, cell):
    kernel = open_comm
    kernel.run("heard.clear()")
    running = kernel.started(cell)
    for n in range(300):
        kernel.iopub(say(kernel, n=n)) if n % 100 == 0 else None
    ids = [say(kernel, n=n) for n in range(300, 600)]
    ids.append(say(kernel, "done.set()", n=600))
    for msg_id in ids:
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    kernel.finished(running)
    assert kernel.run("heard == [0, 100, 200, *range(300, 601)]") == [("result", text("True"))]


@both
@pytest.mark.parametrize("size", [100_000, 5_000_000], ids=["by the area", "in a memfd"])
def test_buffers_come_and_go_in_a_running_cell(open_comm, cell, size):
    kernel = open_comm
    running = kernel.started(cell)
    buffers = [b"\x00\xff", b"x" * size, b""]
    message = say(kernel, "comm.send({}, None, message['buffers']); done.set()", buffers=buffers)
    sent = [m for m in kernel.iopub(message) if m.type == "comm_msg"]
    assert [bytes(b) for b in sent[0].buffers] == buffers
    kernel.finished(running)


@both
def test_a_handler_that_fails_is_shown_on_its_stderr_and_the_cell_goes_on(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell)
    failed = kernel.iopub(say(kernel, "1 / 0"))
    assert [m.state or m.content["name"] for m in failed] == ["busy", "stderr", "idle"]
    assert plain(failed[1].content["text"]).rstrip().endswith("ZeroDivisionError: division by zero")
    kernel.iopub(say(kernel, "done.set()"))
    assert kernel.finished(running).status == "ok"


@both
def test_open_and_close_are_handled_too(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell)
    kernel.iopub(kernel.send("shell", "comm_open", {"comm_id": "d", "target_name": "t", "data": {}}))
    unknown = kernel.iopub(kernel.send("shell", "comm_open", {"comm_id": "e", "target_name": "?"}))
    assert [m.state or m.type for m in unknown] == ["busy", "comm_close", "idle"]
    kernel.iopub(kernel.send("shell", "comm_close", {"comm_id": "d", "data": {}}))
    kernel.iopub(say(kernel, "done.set()"))
    assert kernel.finished(running).status == "ok"
    assert kernel.run("'d' in comms.get_comm_manager().comms") == [("result", text("False"))]


def test_between_cells_they_are_handled_as_ever(open_comm):
    found = open_comm.iopub(say(open_comm, "print('between', einkorn.process_messages())"))
    assert [m.state or m.content["text"] for m in found] == ["busy", "between 0\n", "idle"]


FIFO = "print('go')\nopen({path!r}).read()\n"


@pytest.fixture
def held(open_comm, tmp_path):
    """A cell that blocks in a call, and a function that lets it go on."""
    path = str(tmp_path / "fifo")
    os.mkfifo(path)

    def start(more="", before=""):
        return open_comm.started(before + FIFO.format(path=path) + more)

    def release():
        open(path, "w").close()
    start.release = release
    return start


def test_what_was_not_handled_during_the_cell_follows_it_in_order(open_comm, held):
    """Also before the cell that comes next, which was sent after the messages."""
    kernel = open_comm
    kernel.run("heard.clear()")
    running = held("print('end')")
    ids = [running[0]] + [say(kernel, "print('m')", n=n) for n in range(3)]
    ids.append(kernel.send_execute("print(heard)"))
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    found = short(order(kernel, *ids))
    for cell in (ids[0], ids[-1]):
        assert kernel.reply("shell", cell).content["status"] == "ok"
    assert found == [(0, "busy"), (0, "execute_input"), (0, "go\n"), (0, "end\n"), (0, "idle"),
                     *((who, what) for who in (1, 2, 3) for what in ("busy", "m\n", "idle")),
                     (4, "busy"), (4, "execute_input"), (4, "[0, 1, 2]\n"), (4, "idle")]


def test_a_message_that_was_sent_after_another_cell_waits_for_that_cell(open_comm, held):
    """Design: COMM overtakes only if no execute_request stands before it."""
    kernel = open_comm
    kernel.run("heard.clear()")
    running = held("print(einkorn.process_messages(), heard)")
    first = say(kernel, n="first")
    second_cell = kernel.send_execute("heard.append('cell')")
    second = say(kernel, n="second")
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    assert kernel.finished(running).stdout == "go\n1 ['first']\n"
    for msg_id in (first, second):
        kernel.iopub(msg_id)
    kernel.finish(second_cell)
    assert kernel.run("heard") == [("result", text("['first', 'cell', 'second']"))]


def test_a_cell_that_awaits_hears_what_came_after_the_cells_that_wait(open_comm):
    cell = open_comm.started(AWAIT)
    after = open_comm.send_execute("print('after', heard)")
    message = say(open_comm, "done.set()", 1)
    assert open_comm.finished(cell).stdout == "go\nend\n"
    open_comm.iopub(message)
    assert open_comm.finish_execute(after, "print('after', heard)").stdout == "after [1]\n"


def test_it_overtakes_other_requests_that_wait(open_comm):
    """Completion and inspection that stand before it wait for the cell; it does not."""
    kernel = open_comm
    running = kernel.started(AWAIT)
    inspect = kernel.send("shell", "inspect_request", {"code": "heard", "cursor_pos": 5})
    kernel.iopub(say(kernel, "done.set()"))
    kernel.finished(running)
    assert kernel.finish(inspect).reply.content["found"] is True


def test_an_error_aborts_cells_and_no_comm_messages(open_comm, held):
    kernel = open_comm
    kernel.run("heard.clear()")
    running = held("1 / 0")
    first = say(kernel, n=1)
    aborted = kernel.send_execute("heard.append('never')")
    second = say(kernel, n=2)
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    assert kernel.finished(running).status == "error"
    assert kernel.reply("shell", aborted).content["status"] == "aborted"
    for msg_id in (aborted, first, second):
        kernel.iopub(msg_id)
    assert kernel.run("heard") == [("result", text("[1, 2]"))]


def test_the_call_handles_all_that_wait_and_tells_how_many(open_comm, held):
    kernel = open_comm
    running = held("print(einkorn.process_messages(), einkorn.process_messages())")
    ids = [say(kernel, buffers=[b"x" * 300_000] if n % 50 == 0 else ()) for n in range(500)]
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    assert kernel.finished(running).stdout == "go\n500 0\n"
    for msg_id in ids:
        kernel.iopub(msg_id)


def test_more_than_python_may_have_at_once_is_handled_nevertheless(open_comm, held):
    """1,024 of them are with Python at once; the others follow as those are done."""
    kernel = open_comm
    kernel.run("heard.clear()")
    running = held("while len(heard) < 3000:\n    einkorn.process_messages()")
    ids = [say(kernel, n=n) for n in range(3000)]
    held.release()
    kernel.finished(running)
    for msg_id in ids:
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    assert kernel.run("heard == list(range(3000))") == [("result", text("True"))]


def test_the_call_works_in_the_main_thread_only(open_comm):
    code = ("def ask():\n    try:\n        einkorn.process_messages()\n    except RuntimeError as error:\n"
            "        print(error)\nt = threading.Thread(target=ask); t.start(); t.join()")
    assert open_comm.run(code) == [
        ("stdout", "comm messages are handled in the main thread only, where cells run\n")]


def test_a_forked_child_has_no_messages(open_comm):
    code = ("pid = os.fork()\nif pid == 0:\n    try:\n        einkorn.process_messages()\n"
            "    except RuntimeError:\n        os._exit(7)\n    os._exit(0)\n"
            "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
    assert open_comm.run(code) == [("result", text("7"))]


@both
def test_threads_and_tasks_of_a_handler_speak_for_its_message(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell)
    message = say(kernel, "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join(); done.set()")
    found = kernel.iopub(message)
    assert [m.state or m.content["text"] for m in found] == ["busy", "thread\n", "idle"]
    assert kernel.finished(running).stdout == "go\nend\n"


@pytest.mark.parametrize("cell", [AWAIT, ASK, None], ids=["await", "process_messages", "between cells"])
def test_a_child_that_a_handler_forks_ends_with_the_handler(open_comm, cell):
    """It does not go on in the cell."""
    kernel = open_comm
    running = kernel.started(cell) if cell else None
    found = kernel.iopub(say(kernel, "pid = os.fork()\nif pid:\n"
                             "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); done.set()"
                             if cell else
                             "pid = os.fork()\nif pid:\n"
                             "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"))
    assert [m.state or m.content["text"] for m in found] == ["busy", "0\n", "idle"]
    if cell:
        assert kernel.finished(running).stdout == "go\nend\n"


@pytest.mark.parametrize("cell", [AWAIT, ASK, None], ids=["await", "process_messages", "between cells"])
def test_a_handler_may_run_a_loop(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell) if cell else None
    found = kernel.iopub(say(kernel, "print(asyncio.run(asyncio.sleep(0, 5)))" + ("; done.set()" if cell else "")))
    assert [m.state or m.content["text"] for m in found] == ["busy", "5\n", "idle"]
    if cell:
        assert kernel.finished(running).stdout == "go\nend\n"


def test_a_thread_of_the_cell_speaks_for_the_cell_while_a_handler_runs(open_comm):
    kernel = open_comm
    cell = ("turn, said, done = threading.Event(), threading.Event(), asyncio.Event()\n"
            "def speak():\n    turn.wait(20); print('cell'); said.set()\n"
            "threading.Thread(target=speak).start()\nprint('go')\nawait done.wait()\nprint('end')")
    running = kernel.started(cell)
    message = say(kernel, "print('a'); turn.set(); said.wait(20); print('b'); done.set()")
    found = short(order(kernel, running[0], message))
    kernel.reply("shell", running[0])
    assert found[3:] == [(1, "busy"), (1, "a\n"), (0, "cell\n"), (1, "b\n"), (1, "idle"),
                         (0, "end\n"), (0, "idle")]


@both
def test_a_handler_sees_the_context_of_the_cells_and_leaves_it_alone(open_comm, cell):
    kernel = open_comm
    kernel.run("import contextvars\nv = contextvars.ContextVar('v')\nv.set('cells'); None")
    running = kernel.started(cell + "\nprint(v.get())")
    found = kernel.iopub(say(kernel, "print(v.get()); v.set('handler'); done.set()"))
    assert found[1].content["text"] == "cells\n"
    assert kernel.finished(running).stdout == "go\nend\ncells\n"


def test_a_handler_may_let_others_be_handled(open_comm):
    """A button that works for long looks whether its "cancel" was pressed."""
    kernel = open_comm
    kernel.run("heard.clear(); cancelled = threading.Event()")
    outer = say(kernel, "print('work')\nwhile not cancelled.is_set():\n    einkorn.process_messages()\nprint('over')")
    first = kernel.take("iopub", lambda m: m.parent_id == outer and m.type == "stream")
    assert first.content["text"] == "work\n"
    kernel.queue["iopub"].append(first)
    inner = say(kernel, "print('cancel'); cancelled.set()")
    assert [m.state or m.content["text"] for m in kernel.iopub(inner)] == ["busy", "cancel\n", "idle"]
    kernel.iopub(outer)


def test_messages_within_messages_end_somewhere(open_comm, held):
    """Each handler asks for the next one: beyond 16 levels there is nothing to handle."""
    kernel = open_comm
    kernel.run("depth = most = 0")
    running = held("while len(heard) < 200:\n    einkorn.process_messages()\nprint(most)", "heard.clear()\n")
    deeper = ("global depth, most\ndepth += 1; most = max(most, depth)\n"
              "einkorn.process_messages()\ndepth -= 1")
    ids = [say(kernel, deeper, n=n) for n in range(200)]
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    assert kernel.finished(running).stdout == "go\n16\n"
    for msg_id in ids:
        kernel.iopub(msg_id)
    assert kernel.run("heard == list(range(200))") == [("result", text("True"))]


# --- interrupts ------------------------------------------------------------------------


@both
def test_an_interrupt_ends_the_handler_and_the_cell(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell)
    message = say(kernel, "print('in')\ntry:\n    time.sleep(60)\nfinally:\n    print('out')")
    seen = kernel.take("iopub", lambda m: m.parent_id == message and m.type == "stream")
    assert seen.content["text"] == "in\n"
    kernel.interrupt()
    found = kernel.iopub(message)
    assert [m.state or m.content["name"] for m in found] == ["busy", "stdout", "stderr", "idle"]
    assert found[1].content["text"] == "out\n"
    assert "KeyboardInterrupt" in found[2].content["text"]
    assert kernel.finished(running).error == ("KeyboardInterrupt", "")
    assert kernel.run("'alive'") == [("result", text("'alive'"))]


def test_an_interrupt_ends_a_handler_that_follows_its_cell(open_comm, held):
    kernel = open_comm
    running = held()
    message = say(kernel, "print('in')\ntime.sleep(60)")
    after = say(kernel, "print('next')")
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    held.release()
    assert kernel.finished(running).status == "ok"
    seen = kernel.take("iopub", lambda m: m.parent_id == message and m.type == "stream")
    assert seen.content["text"] == "in\n"
    kernel.interrupt()
    assert [m.state or m.content["name"] for m in kernel.iopub(message)] == ["busy", "stderr", "idle"]
    assert [m.state or m.content["text"] for m in kernel.iopub(after)] == ["busy", "next\n", "idle"]


@both
def test_an_interrupt_ends_a_cell_that_hears_messages(open_comm, cell):
    kernel = open_comm
    running = kernel.started(cell)
    kernel.iopub(say(kernel))
    kernel.interrupt()
    assert kernel.finished(running).error == ("KeyboardInterrupt", "")


# --- the ends --------------------------------------------------------------------------


def test_the_death_of_python_gives_waiting_messages_their_idle(start):
    kernel = start(args=("--on-death", "restart"))
    kernel.run(SETUP)
    kernel.iopub(kernel.send("shell", "comm_open", {"comm_id": "c", "target_name": "t", "data": {}}))
    running = kernel.started("print('go')\ntime.sleep(60)")
    ids = [say(kernel) for _ in range(3)]
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    os.kill(kernel.worker, signal.SIGKILL)
    for msg_id in ids:
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    kernel.take("iopub", lambda m: m.type == "comm_close")
    assert kernel.finished(running).status == "error"
    for state in ("restarting", "idle"):
        kernel.take("iopub", lambda m: m.state == state and m.parent == {})
    kernel.expect_log(r"einkorn: Python was killed by SIGKILL.*")


def test_a_shutdown_gives_waiting_messages_their_idle(start):
    kernel = start()
    kernel.run(SETUP)
    kernel.iopub(kernel.send("shell", "comm_open", {"comm_id": "c", "target_name": "t", "data": {}}))
    running = kernel.started("print('go')\nawait asyncio.sleep(60)")
    handled = say(kernel, "print('in')\ntime.sleep(60)")
    kernel.take("iopub", lambda m: m.parent_id == handled and m.type == "stream")
    ids = [say(kernel, "os.write(2, b'handled')") for _ in range(3)]
    assert kernel.ask("shell", "kernel_info_request").content["status"] == "ok"
    kernel.request_shutdown()
    for msg_id in ids:
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    assert kernel.iopub(handled)[-1].state == "idle"
    assert kernel.finished(running).status == "error"
    kernel.check_gone()


def test_a_cell_that_outlives_thousands_of_messages_keeps_its_parent(open_comm):
    """The kernel remembers 4,096 requests besides the one that runs."""
    kernel = open_comm
    running = kernel.started(AWAIT)
    for _ in range(9):
        for msg_id in [say(kernel) for _ in range(500)]:
            kernel.iopub(msg_id)
    kernel.iopub(say(kernel, "done.set()"))
    assert kernel.finished(running).stdout == "go\nend\n"
