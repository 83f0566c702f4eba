"""
Issue 5, "Ending": a kernel that is told to end, ends: what runs is interrupted, what asked for it
is cleaned up, nothing holds it, and the reply says what happened.
"""

import os
import signal
import time

import pytest

from client import members_of_group, state_of, within

KILLED = r"einkorn: Python does not end: killed"


def alive(pid):
    return state_of(pid) not in ("", "Z", "X")


def told(kernel, restart=False, timeout=3):
    """Sends shutdown_request. -> what the reply says of the cell; its copy on IOPub has the same"""
    msg_id = kernel.send("control", "shutdown_request", {"restart": restart})
    reply = kernel.reply("control", msg_id, timeout)
    assert reply.content == {"status": "ok", "restart": restart}
    shown = kernel.iopub(msg_id, timeout)
    assert [m.state or m.type for m in shown] == ["busy", "shutdown_reply", "idle"]
    assert (shown[1].content, shown[1].metadata) == (reply.content, reply.metadata)
    assert set(reply.metadata) == {"einkorn"} and set(reply.metadata["einkorn"]) == {"cell"}
    return reply.metadata["einkorn"]["cell"]


def ends_within(kernel, seconds, begin, status=0):
    assert kernel.exit_status(seconds + 3) == status
    took = time.monotonic() - begin
    assert took < within(seconds), took
    kernel.check_gone(status)


STUBBORN = ("import time\nprint('go')\nwhile True:\n    try:\n        time.sleep(60)\n"
            "    except KeyboardInterrupt:\n        pass")
SOFT = {"loop": "print('go')\nwhile True: pass",
        "sleep": "import time\nprint('go')\ntime.sleep(60)",
        "await": "import asyncio\nprint('go')\nawait asyncio.sleep(60)"}


@pytest.mark.parametrize("name", SOFT)
def test_the_reply_says_that_the_cell_was_ended(start, name):
    """Issue: the cell is ended by the interrupt path; the reply says what happened."""
    kernel = start()
    cell = kernel.started(SOFT[name])
    begin = time.monotonic()
    assert told(kernel) == "ended"
    assert kernel.finished(cell).error == ("KeyboardInterrupt", "")
    ends_within(kernel, 1.5, begin)


def test_the_reply_says_that_there_was_no_cell(start):
    kernel = start()
    assert told(kernel, restart=True) == "none"
    kernel.check_gone()


def test_the_reply_says_that_the_cell_had_to_be_killed(start):
    """2 s hard; the cell's own error says why it has none of its own."""
    kernel = start()
    kernel.expect_log(KILLED)
    cell = kernel.started(STUBBORN)
    begin = time.monotonic()
    assert told(kernel) == "killed"
    assert kernel.finished(cell).error[0] == "KernelShutdown"
    ends_within(kernel, 2.5, begin)


def test_everybody_who_asks_for_the_end_is_answered(start):
    """Promise 1: each request one reply, also while the first one still waits."""
    kernel = start()
    kernel.expect_log(KILLED)
    other = kernel.connect()
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    kernel.started(STUBBORN)
    first = kernel.send("control", "shutdown_request", {"restart": True})
    second = other.send("shell", "shutdown_request", {"restart": False})
    assert kernel.reply("control", first).content == {"status": "ok", "restart": True}
    assert other.reply("shell", second).content == {"status": "ok", "restart": False}
    kernel.check_gone()


def test_atexit_and_tasks_clean_up_after_a_busy_cell(start, tmp_path):
    """Issue: atexit and pending tasks' cleanup run with a deadline, also when a cell was ended."""
    kernel = start()
    mark = tmp_path / "mark"
    kernel.run(f"""
import asyncio, atexit
def note(word):
    with open({str(mark)!r}, "a") as file:
        file.write(word + "\\n")
async def pending():
    try:
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0.05)
        note("task")
task = asyncio.create_task(pending())
_ = atexit.register(note, "atexit")
await asyncio.sleep(0)""")
    kernel.started("import time\nprint('go')\ntime.sleep(60)")
    begin = time.monotonic()
    assert told(kernel) == "ended"
    ends_within(kernel, 1.5, begin)
    assert sorted(mark.read_text().split()) == ["atexit", "task"]


def test_a_task_that_does_not_clean_up_holds_nothing(start, tmp_path):
    kernel = start()
    mark = tmp_path / "mark"
    kernel.run(f"""
import asyncio, atexit, pathlib
async def stubborn():
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
task = asyncio.create_task(stubborn())
_ = atexit.register(pathlib.Path({str(mark)!r}).write_text, "done")
await asyncio.sleep(0)""")
    begin = time.monotonic()
    told(kernel)
    ends_within(kernel, 2, begin)
    assert mark.read_text() == "done"


HOLDERS = {
    "thread": "import threading, time\n"
              "threading.Thread(target=time.sleep, args=(60,)).start()",
    "thread in C": "import ctypes, threading\n"
                   "threading.Thread(target=ctypes.CDLL(None).sleep, args=(60,)).start()",
    "pool": "import concurrent.futures, time\n"
            "pool = concurrent.futures.ThreadPoolExecutor(2)\n"
            "future = pool.submit(time.sleep, 60)",
    "to_thread": "import asyncio, time\n"
                 "task = asyncio.create_task(asyncio.to_thread(time.sleep, 60))\n"
                 "await asyncio.sleep(0.01)",
    "thread with a child": "import subprocess, threading\n"
                           "threading.Thread(target=subprocess.run, args=(['sleep', '60'],))"
                           ".start()",
    "process": "import multiprocessing, time\n"
               "context = multiprocessing.get_context('fork')\n"
               "p = context.Process(target=time.sleep, args=(60,))\np.start()",
    "process pool": "import concurrent.futures, multiprocessing, time\n"
                    "pool = concurrent.futures.ProcessPoolExecutor(\n"
                    "    2, mp_context=multiprocessing.get_context('fork'))\n"
                    "future = pool.submit(time.sleep, 60)",
}


@pytest.mark.parametrize("how", ["request", "SIGTERM"])
@pytest.mark.parametrize("name", HOLDERS)
def test_nothing_holds_the_exit(start, tmp_path, name, how):
    """
    Issue: non-daemon threads cannot hold the exit, children in the group are ended, within 1 s;
    and what waits behind them in Python's own order of ending, atexit handlers, runs.
    """
    kernel = start()
    mark = tmp_path / "mark"
    kernel.run(f"import atexit, pathlib\n"
               f"_ = atexit.register(pathlib.Path({str(mark)!r}).write_text, 'done')")
    kernel.run(HOLDERS[name])
    begin = time.monotonic()
    if how == "request":
        told(kernel)
    else:
        kernel.process.terminate()
    ends_within(kernel, 1.6, begin)
    assert mark.read_text() == "done"


def test_threads_that_end_are_waited_for(start, tmp_path):
    """As Python does; before atexit handlers."""
    kernel = start()
    mark = tmp_path / "mark"
    kernel.run(f"""
import atexit, threading, time
def note(word):
    with open({str(mark)!r}, "a") as file:
        file.write(word + " ")
_ = atexit.register(note, "atexit")
def work():
    time.sleep(0.2)
    note("thread")
threading.Thread(target=work).start()""")
    told(kernel)
    kernel.check_gone()
    assert mark.read_text() == "thread atexit "


def test_a_cell_behind_a_child_that_ignores_interrupts(start):
    """What reacts to SIGTERM only is ended within 1 s as well, and the cell with it."""
    kernel = start()
    kernel.expect_log(KILLED)
    cell = kernel.started("import os\nprint('go', flush=True)\n"
                          "rc = os.system(\"trap '' INT; sleep 60\")")
    begin = time.monotonic()
    assert told(kernel) == "ended"
    assert kernel.finished(cell).status in ("ok", "error")
    ends_within(kernel, 1.6, begin)


def test_output_of_the_ending_arrives(start):
    """Promise 2: what handlers and tasks say at the end is told, too, under the last cell."""
    kernel = start()
    kernel.run("import atexit\n_ = atexit.register(print, 'bye')")
    msg_id = kernel.send_execute("1")
    kernel.finish_execute(msg_id, "1")
    told(kernel)
    said = kernel.take("iopub", lambda m: m.type == "stream")
    assert said.content == {"name": "stdout", "text": "bye\n"}
    kernel.check_gone()


def test_exit_in_a_cell_is_held_by_nothing_either(start):
    """exit() lets the process stay for a second (stop.h), and then it goes."""
    kernel = start()
    kernel.run(HOLDERS["thread"])
    begin = time.monotonic()
    kernel.execute("exit()")
    ends_within(kernel, 2.5, begin)


def test_status_0_and_the_restart_flag(start, tmp_path):
    """C018, as it stands: a handler of one second runs to its end; with SIGTERM, too."""
    code = ("import atexit, pathlib, tempfile, time\n"
            f"mark = pathlib.Path({str(tmp_path)!r}) / 'kernel_atexit_mark.txt'\n"
            "mark.unlink(missing_ok=True)\ndef bye():\n    time.sleep(1)\n"
            "    mark.write_text(\"done\")\natexit.register(bye)\nprint(mark)")
    mark = tmp_path / "kernel_atexit_mark.txt"
    for how in ("request", "SIGTERM"):
        kernel = start()
        kernel.run(code)
        begin = time.monotonic()
        if how == "request":
            told(kernel, restart=True, timeout=1)
        else:
            kernel.process.terminate()
        ends_within(kernel, 3, begin)
        assert mark.read_text() == "done"


def test_children_and_threads_at_the_end(start):
    """
    C068, as it stands, with the time of the issue: p goes with the kernel, q in a session of its
    own is left alone, a thread and zombies hold nothing, and nobody reaped behind the cell's back.
    """
    kernel = start()
    (_, pids), = kernel.run(
        "import subprocess\np = subprocess.Popen([\"sleep\", \"57\"])\n"
        "q = subprocess.Popen([\"sleep\", \"58\"], start_new_session=True)\n"
        "z = [subprocess.Popen([\"true\"]) for _ in range(20)]\nprint(p.pid, q.pid)")
    p, q = map(int, pids.split())
    assert kernel.run("import threading, time\n"
                      "t = threading.Thread(target=time.sleep, args=(60,))\n"
                      "t.start()\nprint(\"thread\")") == [("stdout", "thread\n")]
    kernel.run("assert z[0].wait() == 0")
    try:
        begin = time.monotonic()
        told(kernel, timeout=1)
        ends_within(kernel, 1.6, begin)
        assert not alive(p)
        assert alive(q)
    finally:
        os.kill(q, signal.SIGKILL)


def test_the_kernels_own_group_has_no_other_members(start):
    """The worker leads a group of its own; a server that signals ours hits the kernel alone."""
    kernel = start()
    assert members_of_group(kernel.pid) == [kernel.pid]
