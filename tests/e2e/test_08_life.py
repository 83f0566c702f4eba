"""
Issue 1, "Shutdown", JPY_PARENT_PID and the worker's death: everything ends in time,
says why, and leaves nothing behind.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

from client import (CHANNELS, PORTS, Client, children_of, descendants_of, members_of_group,
                    port_is_free, state_of, text, wait_gone, within)

SLEEPER = [sys.executable, "-c", "import signal; signal.pause()"]


def alive(pid):
    return state_of(pid) not in ("", "Z", "X")


# --- shutdown --------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["control", "shell"])
@pytest.mark.parametrize("restart", [False, True])
def test_shutdown(start, channel, restart):
    """Reply and broadcast with the same flag; status 0; all gone within 1 s; the file stays."""
    kernel = start()
    family = descendants_of(kernel.pid)
    begin = time.monotonic()
    kernel.request_shutdown(channel, restart)
    assert kernel.exit_status(1) == 0
    assert time.monotonic() - begin < within(1.0)
    kernel.check_gone()
    assert not [pid for pid in family if alive(pid)]
    assert kernel.file.exists()


def test_other_clients_see_the_end(start):
    """Shutdown_reply on IOPub, with the request as parent."""
    kernel = start()
    other = kernel.connect(channels=("iopub",))
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    kernel.request_shutdown()
    seen = other.take("iopub", lambda m: m.type == "shutdown_reply")
    assert seen.content == {"status": "ok", "restart": False}
    other.close()
    kernel.check_gone()


BUSY = {
    "loop": "print('go')\nwhile True: pass",
    "sleep": "import time\nprint('go')\ntime.sleep(60)",
    "await": "import asyncio\nprint('go')\nawait asyncio.sleep(60)",
    "swallows": "import time\nprint('go')\nwhile True:\n    try:\n        time.sleep(60)\n"
                "    except KeyboardInterrupt:\n        pass",
    "ignores": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
               "print('go')\ntime.sleep(60)",
    "holds the GIL": "import ctypes\nprint('go')\nctypes.PyDLL(None).sleep(20)",
    "child": "import subprocess\nprint('go')\nsubprocess.run(['sleep', '60'])",
    "asks": None,
}


@pytest.mark.parametrize("name", BUSY)
@pytest.mark.parametrize("how", ["request", "SIGTERM"])
def test_shutdown_of_a_busy_kernel(start, name, how):
    """peers 7.14: a running cell is interrupted and answered; gone within 1 s, 2 s hard."""
    kernel = start()
    kernel.expect_log(r"einkorn: Python does not end: killed")
    if BUSY[name] is None:
        msg_id = kernel.send_execute("input('?')", allow_stdin=True)
        kernel.take("stdin")
    else:
        msg_id, _ = kernel.started(BUSY[name])
    queued = kernel.send_execute("print('never')")
    kernel.kernel_info("shell")  # it has arrived
    family = descendants_of(kernel.pid)
    begin = time.monotonic()
    if how == "request":
        kernel.request_shutdown()
    else:
        kernel.process.terminate()
    assert kernel.reply("shell", msg_id, 5).content["status"] == "error"
    assert kernel.reply("shell", queued, 5).content["status"] in ("aborted", "error")
    kernel.exit_status(5)
    hard = name in ("swallows", "ignores", "holds the GIL")
    assert time.monotonic() - begin < within(2.2 if hard else 1.2)
    kernel.check_gone(status=0)
    assert not [pid for pid in family if alive(pid)]
    shown = [m.type for m in kernel.iopub(queued)]
    assert shown == ["status", "status"]


def test_atexit_runs(start, tmp_path):
    """C018: a handler that takes a while is waited for."""
    mark = tmp_path / "mark"
    code = (f"import atexit, pathlib, time\ndef bye():\n    time.sleep(1)\n"
            f"    pathlib.Path({str(mark)!r}).write_text('done')\n_ = atexit.register(bye)")
    kernel = start()
    kernel.run(code)
    kernel.request_shutdown(restart=True, timeout=1)
    assert kernel.exit_status(3) == 0
    kernel.check_gone()
    assert mark.read_text() == "done"


def test_atexit_runs_on_sigterm(start, tmp_path):
    """Issue: SIGTERM: atexit runs; the status is 0 for a kernel that ended as told."""
    mark = tmp_path / "mark"
    kernel = start()
    kernel.run(f"import atexit\nf = open({str(mark)!r}, 'w')\n"
               "_ = atexit.register(lambda: (f.write('done'), f.close()))")
    begin = time.monotonic()
    kernel.process.terminate()
    broadcast = kernel.take("iopub", lambda m: m.type == "shutdown_reply")
    assert broadcast.content == {"status": "ok", "restart": False}
    kernel.check_gone(status=0)
    assert time.monotonic() - begin < within(1.2)
    assert mark.read_text() == "done"


def test_an_atexit_that_hangs_does_not_hold_the_kernel(start):
    """2 s hard."""
    kernel = start()
    kernel.expect_log(r"einkorn: Python does not end: killed")
    kernel.run("import atexit, time\n_ = atexit.register(time.sleep, 60)")
    begin = time.monotonic()
    kernel.request_shutdown()
    kernel.exit_status(4)
    assert time.monotonic() - begin < within(2.5)
    kernel.check_gone()


def test_two_shutdowns_are_one(start):
    """Nothing bad comes of asking twice, and of SIGTERM on top of it."""
    kernel = start()
    first = kernel.send("control", "shutdown_request", {"restart": False})
    kernel.send("control", "shutdown_request", {"restart": False})
    kernel.take("iopub", lambda m: m.parent_id == first)  # a signal may overtake a request
    kernel.process.terminate()
    assert kernel.reply("control", first).content["status"] == "ok"
    kernel.check_gone()


def test_requests_after_shutdown_are_answered_or_dropped(start):
    kernel = start()
    kernel.run("import atexit, time\n_ = atexit.register(time.sleep, 0.3)")
    kernel.request_shutdown()
    msg_id = kernel.send_execute("print('never')")
    assert kernel.reply("shell", msg_id, 5).content["status"] == "aborted"
    assert [m.state for m in kernel.iopub(msg_id, 5)] == ["busy", "idle"]
    kernel.check_gone()


def test_ports_and_file_can_be_used_at_once(start):
    """Issue: reusable at once: a second kernel on the same file, with a session of its own."""
    first = start()
    again = {k: v for k, v in first.connection.items() if not k.endswith("_port")}
    ports = [first.connection[f"{name}_port"] for name in CHANNELS]
    first.request_shutdown(restart=True)
    assert first.exit_status(3) == 0
    Client.close(first)  # its subscription would come back to the second, and be welcomed to all
    second = start(ports=ports, **again)
    assert second.run("1") == [("result", text("1"))]
    assert second.kernel_session != first.kernel_session
    first.stopped = True


def test_five_restarts_on_the_same_ports(start):
    ports = PORTS.take()
    for n in range(5):
        kernel = start(ports=ports, key="same")
        assert kernel.run(f"{n}") == [("result", text(str(n)))]
        kernel.stop()


def test_shutdown_during_start(start):
    """The worker may not be ready yet."""
    kernel = start(ready=False)
    msg_id = kernel.send("control", "shutdown_request", {"restart": False})
    assert kernel.reply("control", msg_id).content == {"status": "ok", "restart": False}
    assert kernel.exit_status(3) == 0
    kernel.check_gone()


def test_sigterm_during_start(start):
    for _ in range(5):
        kernel = start(ready=False)
        kernel.process.terminate()
        assert kernel.exit_status(3) in (0, -signal.SIGTERM)
        assert members_of_group(kernel.pid) == []
        kernel.stopped = True


def test_children_go_with_the_kernel(start):
    """C068: the group goes, a session of its own stays, zombies and threads do not matter."""
    kernel = start()
    (_, pids), = kernel.run(
        "import subprocess\np = subprocess.Popen([\"sleep\", \"57\"])\n"
        "q = subprocess.Popen([\"sleep\", \"58\"], start_new_session=True)\n"
        "z = [subprocess.Popen([\"true\"]) for _ in range(20)]\nprint(p.pid, q.pid)")
    p, q = map(int, pids.split())
    kernel.run("import threading, time\nt = threading.Thread(target=time.sleep, args=(60,))\n"
               "t.start()\nprint(\"thread\")")
    assert kernel.run("z[0].wait()") == [("result", text("0"))]
    kernel.expect_log(r"einkorn: Python does not end: killed")
    try:
        kernel.request_shutdown(timeout=1)
        kernel.exit_status(5)
        kernel.check_gone()
        assert not alive(p)
        assert alive(q)
    finally:
        os.kill(q, signal.SIGKILL)


def test_a_child_that_ignores_sigterm_goes_too(start):
    kernel = start()
    (_, pid), = kernel.run(
        "import subprocess\np = subprocess.Popen(['sh', '-c', 'trap \"\" TERM INT; echo ready; "
        "while :; do sleep 1; done'], stdout=subprocess.PIPE)\n"
        "x = p.stdout.readline()\nprint(p.pid)")
    kernel.request_shutdown()
    kernel.exit_status(3)
    kernel.check_gone()
    assert not alive(int(pid))


# --- the parent -------------------------------------------------------------------


def test_the_kernel_ends_with_its_parent(start):
    """peers 7.14: JPY_PARENT_PID gone: everything ends, also while a cell runs."""
    parent = subprocess.Popen(SLEEPER)
    try:
        kernel = start(env={"JPY_PARENT_PID": str(parent.pid)})
        kernel.expect_log(r"einkorn: .*parent.*", r"einkorn: Python does not end: killed")
        (_, child), = kernel.run("import subprocess\np = subprocess.Popen(['sleep', '60'])\n"
                                 "print(p.pid)")
        family = descendants_of(kernel.pid)
        kernel.started("import time\nprint('go')\ntime.sleep(60)")
    finally:
        parent.kill()
        parent.wait()
    assert kernel.exit_status(3) == 0
    assert not [pid for pid in [*family, int(child)] if alive(pid)]
    kernel.check_gone(status=0)


BOGUS = {"no number": "abc", "no such process": "4194300", "zero": "0", "negative": "-5",
         "too large": "99999999999999999999"}


@pytest.mark.parametrize("name", BOGUS)
def test_a_wrong_parent_pid_is_ignored(start, name):
    """Issue: ignored with a log line; the kernel serves."""
    kernel = start(env={"JPY_PARENT_PID": BOGUS[name]})
    assert kernel.run("1") == [("result", text("1"))]
    lines = kernel.stderr().splitlines()
    assert len(lines) == 1 and f"JPY_PARENT_PID={BOGUS[name]}" in lines[0], lines
    kernel.expect_log(r"einkorn: JPY_PARENT_PID=.*")


YOUNGER = """
import os, subprocess, sys
p = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
os.environ["JPY_PARENT_PID"] = str(p.pid)
open(sys.argv[1], "w").write(str(p.pid))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_parent_younger_than_us_is_ignored(start, tmp_path):
    """A pid that was used again, or one of another namespace, is not our parent."""
    note = tmp_path / "pid"
    kernel = start(launcher=[sys.executable, "-c", YOUNGER, str(note)])
    kernel.expect_log(r"einkorn: JPY_PARENT_PID=.*")
    os.kill(int(note.read_text()), signal.SIGKILL)
    assert kernel.run("1") == [("result", text("1"))]
    assert kernel.stderr().count("JPY_PARENT_PID=") == 1


def orphan(start, value):
    """A kernel behind a process of its own, which is then killed. -> (kernel pid, worker pid)"""
    through = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    env = {} if value is None else {"JPY_PARENT_PID": value}
    kernel = start(launcher=[sys.executable, "-c", through], env=env)
    kernel.expect_log(r"einkorn: .*")
    real, = children_of(kernel.pid)
    worker, = children_of(real)
    kernel.process.kill()
    kernel.process.wait()
    kernel.stopped = True
    return kernel, real, worker


def test_a_wrong_parent_pid_means_the_real_parent_is_watched(start):
    """Issue: … and getppid watched instead."""
    _, real, worker = orphan(start, "4194300")
    assert wait_gone(real, 3) and wait_gone(worker, 3)


def test_no_parent_pid_means_independent(start):
    """Without JPY_PARENT_PID a kernel outlives its starter."""
    kernel, real, worker = orphan(start, None)
    kernel.pidfd, old = os.pidfd_open(real), kernel.pidfd
    os.close(old)
    assert kernel.run("1") == [("result", text("1"))]
    kernel.request_shutdown()
    assert wait_gone(real, 3) and wait_gone(worker, 3)


# --- the worker's death --------------------------------------------------------------


DEATHS = [
    ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", -9),
    ("import os\nos._exit(7)", "exit status 7", 7),
    ("import os\nos._exit(0)", "exit status 0", 1),
    ("import ctypes\nctypes.string_at(0)", "SIGSEGV", -11),
    ("import os\nos.abort()", "SIGABRT", -6),
    ("import faulthandler\nfaulthandler._sigsegv()", "SIGSEGV", -11),
]


@pytest.mark.parametrize("code, named, status", DEATHS, ids=[d[0].splitlines()[-1] for d in DEATHS])
def test_death_of_the_worker(start, code, named, status):
    """
    Issue: the running cell gets all its output and an error that names signal or exit status;
    queued cells are answered; then the kernel ends as the worker did (C065), non-zero.
    """
    # A sanitized build would report the signal itself and end with a status of its own.
    options = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_abort=0"
    kernel = start(env={"ASAN_OPTIONS": options})
    kernel.expect_log(r"einkorn: Python .*" + named + ".*")
    code = "import sys\nprint('x' * 100_000)\nsys.stderr.write('last words')\n" + code
    msg_id = kernel.send_execute(code)
    queued = kernel.send_execute("print('never')")
    result = kernel.finish_execute(msg_id, code)
    assert result.stdout == "x" * 100_000 + "\n"
    assert result.stderr.startswith("last words")
    assert result.error[0] == "KernelDied"
    assert named in result.error[1]
    assert result.outputs[-1] == ("error", *result.error)
    assert kernel.finish_execute(queued, "print('never')").status in ("aborted", "error")
    kernel.check_gone(status=status)


def test_death_between_cells(start):
    """An idle worker that is killed ends the kernel, non-zero, without being asked."""
    kernel = start()
    kernel.expect_log(r"einkorn: Python was killed by SIGKILL.*")
    kernel.run("1")
    os.kill(kernel.worker, signal.SIGKILL)
    assert kernel.exit_status(3) == -9
    kernel.check_gone(status=-9)


def test_death_of_the_worker_ends_its_children(start):
    kernel = start()
    kernel.expect_log(r"einkorn: Python .*")
    code = "import os, subprocess\np = subprocess.Popen(['sleep', '60'])\nprint(p.pid)\n" \
           "sys = __import__('sys'); sys.stdout.flush()\nos._exit(3)"
    result = kernel.execute(code)
    assert kernel.exit_status(3) == 3
    kernel.check_gone(status=3)
    assert not alive(int(result.stdout))


def test_death_seen_although_a_grandchild_holds_the_pipes(start):
    """By pidfd; EOF would come only when the child in its own session ends."""
    kernel = start()
    kernel.expect_log(r"einkorn: Python .*")
    code = ("import os, subprocess\n"
            "q = subprocess.Popen(['sleep', '58'], start_new_session=True)\n"
            "print(q.pid, flush=True)\n"
            "os._exit(4)")
    begin = time.monotonic()
    result = kernel.execute(code)
    try:
        assert result.error[0] == "KernelDied"
        assert kernel.exit_status(3) == 4
        assert time.monotonic() - begin < within(3)
        assert alive(int(result.stdout))
    finally:
        os.kill(int(result.stdout), signal.SIGKILL)
    kernel.check_gone(status=4)


def test_death_of_the_kernel_ends_worker_and_children(start):
    """Promise 6: when the kernel dies, nothing is left running."""
    kernel = start()
    (_, pid), = kernel.run("import subprocess\np = subprocess.Popen(['sleep', '60'])\nprint(p.pid)")
    worker = kernel.worker
    kernel.started("print('go')\nwhile True: pass")
    kernel.process.kill()
    kernel.process.wait()
    assert wait_gone(worker, 3) and wait_gone(int(pid), 3)
    kernel.stopped = True
    assert all(port_is_free(kernel.connection[f"{n}_port"]) for n in CHANNELS)


# --- surroundings -----------------------------------------------------------------------


def test_stderr_that_is_closed_or_full_stops_nothing(start):
    """Never block on a full pipe."""
    full = ("import os, sys\nr, w = os.pipe()\nos.set_blocking(w, False)\n"
            "try:\n    while True: os.write(w, b'x' * 4096)\nexcept BlockingIOError: pass\n"
            "os.set_blocking(w, True)\nos.dup2(w, 1)\nos.dup2(w, 2)\nos.set_inheritable(r, True)\n"
            "os.execv(sys.argv[1], sys.argv[1:])")
    closed = ("import os, sys\nfor fd in (0, 1, 2): os.close(fd)\n"
              "os.execv(sys.argv[1], sys.argv[1:])")
    for code in (full, closed):
        kernel = start(launcher=[sys.executable, "-c", code])
        for _ in range(50):
            kernel.send_frames("shell", [b"garbage"])
        assert kernel.run("print('still')\nimport os\nrc = os.system('echo too')") == [
            ("stdout", "still\ntoo\n")]
        kernel.stop()


def test_python_leads_a_session_of_its_own(kernel):
    """It has no terminal that stops it, and what it computes does not count as the kernel's."""
    assert kernel.run("import os\nprint(os.getpid() == os.getpgid(0) == os.getsid(0))") == [
        ("stdout", "True\n")]


def test_no_descriptor_of_ours_reaches_children(kernel):
    """Every fd of ours is CLOEXEC, 0, 1, 2 aside."""
    assert kernel.run("import subprocess\nprint(subprocess.run(['ls', '/proc/self/fd'], "
                      "capture_output=True, text=True, close_fds=False).stdout.split())") == [
        ("stdout", "['0', '1', '2', '3']\n")]


def test_unwritable_home_and_odd_directory(start, tmp_path):
    """Runs with no HOME, in a directory that is gone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    kernel = start(env={"HOME": "/nonexistent", "TMPDIR": "/tmp"}, cwd=str(gone))
    gone.rmdir()
    assert kernel.run("1") == [("result", text("1"))]


def test_the_connection_file_is_left_alone(start):
    """Never removed or altered."""
    kernel = start()
    before = kernel.file.read_bytes()
    kernel.stop()
    assert kernel.file.read_bytes() == before
