"""
Issue 3, "Output engine": floods cost bounded memory and are cut once; a client
that does not read harms only itself; messages are few; progress bars stay; other
processes' lines stay whole; nothing comes after idle.
"""

import bisect
import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from client import IPYTHON, text
from raw_subscriber import RawSubscriber

MB = 1 << 20
# A sanitizer keeps freed memory for a while and has its own beside each allocation.
SANITIZED = "ASAN_OPTIONS" in os.environ
FREED_AT_ONCE = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
                 ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}
LOST = r"einkorn: .*a client has taken no output for [\d.]+ s: it is disconnected, and loses messages"


def out(value):
    return [("stdout", value)]


def messages(result, name="stdout"):
    return [m for m in result.iopub if m.type == "stream" and m.content["name"] == name]


def when(message):
    """The kernel's time of a message, in seconds."""
    return datetime.datetime.fromisoformat(message.header["date"]).timestamp()


def markers(value):
    return re.findall(r"\n\.\.\.\(truncated at \d+ characters\)", value)


# --- memory -----------------------------------------------------------------------


class Peaks:
    """
    How far the memory of both processes has risen since this was made, in bytes. The kernel
    must have been started with FREED_AT_ONCE.
    """

    def __init__(self, kernel):
        if IPYTHON:  # what it is, and what it imports for its first traceback, is not what rises
            kernel.execute("1 / 0", store_history=False)
        self.pids = {"kernel": kernel.pid, "worker": kernel.worker}
        for pid in self.pids.values():
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # VmHWM is VmRSS now
        self.before = {name: self.peak(pid) for name, pid in self.pids.items()}

    @staticmethod
    def peak(pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def kept(self, name):
        """What it has now beyond what it had."""
        pathlib.Path(f"/proc/{self.pids[name]}/clear_refs").write_text("5")
        return self.risen(name)

    def risen(self, name):
        risen = self.peak(self.pids[name]) - self.before[name]
        return risen // 2 if SANITIZED else risen


RUNAWAYS = [
    ("pieces of a megabyte", "for _ in range(200): print('x' * 1_000_000)", 0),
    ("lines", "for i in range(2_000_000): print('%099d' % i)", 0),
    ("one print", "print('x' * 200_000_000)", 200_000_000),
    ("one print, not ASCII", "print('é' * 100_000_000)", 100_000_000),
    ("one write of bytes", "n = sys.stdout.buffer.write(b'x' * 200_000_000)", 200_000_000),
    ("another process", "r = os.system('head -c 200000000 /dev/zero | tr \"\\\\0\" x')", 0),
]


@pytest.mark.parametrize("code, of_its_own", [r[1:] for r in RUNAWAYS], ids=[r[0] for r in RUNAWAYS])
def test_a_runaway_costs_bounded_memory_and_is_cut_once(start, code, of_its_own):
    """200 MB in pieces, or in one: idle + 16 MB in both processes, besides the string itself."""
    kernel = start(env=FREED_AT_ONCE)
    kernel.run("import os, sys")
    peaks = Peaks(kernel)
    result = kernel.execute(code, timeout=60)
    assert result.status == "ok"
    assert len(markers(result.stdout)) == 1
    assert 1_000_000 < len(result.stdout) < 1_030_000
    assert peaks.risen("kernel") <= 16 * MB
    assert peaks.risen("worker") <= of_its_own + 16 * MB


def subscriber(kernel):
    """A raw subscriber; the kernel's own client sees its welcome too."""
    raw = RawSubscriber(kernel.connection)
    kernel.welcome()
    return raw


def test_print_until_interrupted(start):
    """`while True: print(...)`: cut once, its last lines at its end, and interrupted at once."""
    kernel = start(env=FREED_AT_ONCE)
    peaks = Peaks(kernel)
    code = "i = 0\nwhile True:\n    i += 1\n    print('line', i)"
    msg_id = kernel.send_execute(code)
    seen = []
    while "truncated" not in "".join(m.content["text"] for m in seen[-2:]):
        seen.append(kernel.take("iopub", lambda m: m.type == "stream"))
    kernel.interrupt()
    assert kernel.reply("shell", msg_id).content["ename"] == "KeyboardInterrupt"
    seen += [m for m in kernel.iopub(msg_id) if m.type == "stream"]
    shown = "".join(m.content["text"] for m in seen)
    assert len(markers(shown)) == 1
    last = int(shown.splitlines()[-2].split()[1])  # the last one may be half a line
    assert kernel.run("i") in ([("result", text(str(last + n)))] for n in range(3))
    assert peaks.risen("kernel") <= 16 * MB and peaks.risen("worker") <= 16 * MB


@pytest.mark.parametrize("size, limit", [(2000, 48 * MB), (1, 48 * MB)], ids=["2 kB", "tiny"])
def test_a_flood_of_displays_with_a_slow_reader(start, size, limit):
    """
    20,000 displays of 2 kB (and 50,000 of nothing at all) with a reader that stops for as
    long as it can: nobody loses a message, and what waits for it is bounded, envelopes included.
    """
    count = 20_000 if size > 1 else 50_000
    kernel = start(args=["--stall-timeout", "0"], env=FREED_AT_ONCE)
    slow = subscriber(kernel)
    peaks = Peaks(kernel)
    code = (f"for k in range({count}):\n"
            f"    display({{'text/plain': 'x' * {size} + str(k)}}, raw=True)")
    msg_id = kernel.send_execute(code)
    wait_until_nothing_is_written(kernel.worker)
    kernel.kernel_info("control")
    got = slow.until(f"x{count - 1}\"".encode())
    shown = [m for m in got if b'"display_data"' in m[3]]
    assert [m[6] for m in shown] == [
        b'{"data":{"text/plain":"%s%d"},"metadata":{},"transient":{}}' % (b"x" * size, k)
        for k in range(count)]
    result = kernel.finish_execute(msg_id, code, timeout=60)
    assert [m.content["data"]["text/plain"] for m in result.body] == [
        "x" * size + str(k) for k in range(count)]
    slow.close()
    assert peaks.risen("kernel") <= limit
    assert peaks.risen("worker") <= 16 * MB


def wait_until_nothing_is_written(worker, timeout=30):
    """The worker has stopped in the middle of a flood: it has run for no time for a while."""
    def ran():
        fields = pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    end = time.monotonic() + timeout
    before, since = ran(), time.monotonic()
    while time.monotonic() - since < 0.5:
        assert time.monotonic() < end, "the worker does not stop"
        time.sleep(0.02)
        now = ran()
        if now != before:
            before, since = now, time.monotonic()


# --- clients that do not read --------------------------------------------------------


MEGABYTES = "for i in range(100):\n    display({'text/plain': '%03d' % i + 'x' * 1_000_000}, raw=True)"


def check_megabytes(result):
    assert [m.content["data"]["text/plain"][:3] for m in result.body] == [
        "%03d" % i for i in range(100)]
    assert all(len(m.content["data"]["text/plain"]) == 1_000_003 for m in result.body)


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_client_that_takes_nothing_is_disconnected_and_alone_loses(start, transport):
    """
    It is disconnected after --stall-timeout and a log line says so; the other one gets
    everything; control is answered meanwhile; the worker goes on.
    """
    kernel = start(args=["--stall-timeout", "1"], transport=transport, env=FREED_AT_ONCE)
    kernel.expect_log(LOST)
    stalled = subscriber(kernel)
    peaks = Peaks(kernel)
    msg_id = kernel.send_execute(MEGABYTES)
    wait_until_nothing_is_written(kernel.worker)
    kernel.kernel_info("control")
    result = kernel.finish_execute(msg_id, MEGABYTES, timeout=60)
    check_megabytes(result)
    lost = [m for m in stalled.rest() if b'"display_data"' in m[3]]
    assert len(lost) < 100
    stalled.close()
    assert len(re.findall(LOST, kernel.stderr())) == 1
    assert peaks.risen("kernel") <= 56 * MB  # what waits, a message at work, the ring
    assert kernel.run("print('on')") == out("on\n")


def test_the_memory_of_a_backlog_is_given_back(start):
    """20,000 displays that waited for a client that went away: nothing of them stays."""
    kernel = start(args=["--stall-timeout", "1"], env=FREED_AT_ONCE)
    kernel.expect_log(LOST)
    gone = subscriber(kernel)
    peaks = Peaks(kernel)
    kernel.execute("for k in range(20_000):\n    display({'text/plain': 'x' * 2000}, raw=True)",
                   timeout=60)
    gone.close()
    assert peaks.risen("kernel") > 20 * MB
    end = time.monotonic() + 30
    while peaks.kept("kernel") > (48 if SANITIZED else 10) * MB:  # it keeps what was freed
        assert time.monotonic() < end, peaks.kept("kernel")
        kernel.kernel_info("control")


def test_a_stopped_client_is_disconnected_and_comes_back(start, tmp_path):
    """SIGSTOP: its window closes, it takes nothing. When it goes on it connects anew."""
    kernel = start(args=["--stall-timeout", "1"])
    kernel.expect_log(LOST)
    code = ("import sys, zmq\ns = zmq.Context().socket(zmq.SUB)\ns.rcvhwm = 0\n"
            "s.subscribe(b'')\ns.connect(sys.argv[1])\n"
            "while True:\n    m = s.recv_multipart()\n"
            "    if b'iopub_welcome' in m[3]: print('welcome', flush=True)\n"
            "    if b'again' in m[6]: print('again', flush=True)\n")
    client = subprocess.Popen([sys.executable, "-c", code, kernel.endpoint("iopub")],
                              stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout.readline() == "welcome\n"
        kernel.welcome()
        client.send_signal(signal.SIGSTOP)
        check_megabytes(kernel.execute(MEGABYTES, timeout=60))
        assert len(re.findall(LOST, kernel.stderr())) == 1
        client.send_signal(signal.SIGCONT)
        assert client.stdout.readline() == "welcome\n"
        kernel.welcome()
        kernel.run("print('again')")
        assert client.stdout.readline() == "again\n"
    finally:
        client.kill()
        client.communicate()


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_slow_client_is_none_that_takes_nothing(start, transport):
    """It reads less than there is for longer than --stall-timeout, and gets all."""
    kernel = start(args=["--stall-timeout", "1"], transport=transport)
    slow = subscriber(kernel)
    msg_id = kernel.send_execute(MEGABYTES)
    started = time.monotonic()
    seen = 0
    while seen < 100:
        if time.monotonic() - started < 4:
            time.sleep(0.1)
        seen += b'"display_data"' in slow.message()[3]
    check_megabytes(kernel.finish_execute(msg_id, MEGABYTES, timeout=60))
    slow.close()


def test_without_a_timeout_the_worker_waits_and_can_be_interrupted(start, tmp_path):
    """
    --stall-timeout 0: for ever, while its other threads go on; the interrupted cell has its
    reply, and nobody has lost anything.
    """
    kernel = start(args=["--stall-timeout", "0"])
    stalled = subscriber(kernel)
    ask, answer = tmp_path / "ask", tmp_path / "answer"
    os.mkfifo(ask)
    os.mkfifo(answer)
    kernel.run(f"import threading\ndef echo():\n    text = open({str(ask)!r}).read()\n"
               f"    open({str(answer)!r}, 'w').write(text)\n"
               "thread = threading.Thread(target=echo)\nthread.start()")
    msg_id = kernel.send_execute(MEGABYTES)
    wait_until_nothing_is_written(kernel.worker)
    ask.write_text("alive")
    assert answer.read_text() == "alive"
    kernel.interrupt()
    result = kernel.finish_execute(msg_id, MEGABYTES)
    assert result.error[0] == "KeyboardInterrupt"
    shown = [m.content["data"]["text/plain"][:3] for m in result.body if m.type == "display_data"]
    assert shown == ["%03d" % i for i in range(len(shown))] and 20 < len(shown) < 100
    got = [m for m in stalled.until(b'"ename":"KeyboardInterrupt"') if b'"display_data"' in m[3]]
    assert [m[6][23:26].decode() for m in got] == shown
    stalled.close()


# --- few messages ----------------------------------------------------------------------


FLOODS = [
    ("lines", "for i in range(100_000): print('%09d' % i)", 1_000_000),
    ("one print", "print('x' * 999_999)", 1_000_000),
    ("another process", "import os\nr = os.system('head -c 1000000 /dev/zero | tr \"\\\\0\" x')",
     1_000_000),
]


@pytest.mark.parametrize("code, length", [f[1:] for f in FLOODS], ids=[f[0] for f in FLOODS])
def test_a_flood_leaves_in_few_messages(kernel, code, length):
    """1,000,000 characters in at most 6 messages."""
    result = kernel.execute(code)
    assert len(result.stdout) == length
    assert len(messages(result)) <= 6


def test_the_first_text_of_a_flood_does_not_wait(kernel, tmp_path):
    """It is seen while the cell waits, and so is the last: the cell goes on when they were."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = (f"print('first')\nx = open({str(gate)!r}).read()\n"
            f"for i in range(100_000): print(i)\nprint('last')\nx = open({str(gate)!r}).read()")
    cell = kernel.started(code, mark="first\n")
    gate.write_text("x")
    seen = [kernel.take("iopub", lambda m: m.type == "stream")]
    while not seen[-1].content["text"].endswith("\nlast\n"):
        seen.append(kernel.take("iopub", lambda m: m.type == "stream"))
    gate.write_text("x")
    kernel.queue["iopub"][2:2] = seen  # behind busy and execute_input, as they came
    assert kernel.finished(cell).outputs == out(
        "first\n" + "".join(f"{i}\n" for i in range(100_000)) + "last\n")


def test_many_small_writes_stay_under_a_servers_limits(kernel):
    """Lines one after the other, for a second: far below 1,000 messages and 1 MB a second."""
    result = kernel.execute("import time\nend = time.monotonic() + 1\ni = 0\n"
                            "while time.monotonic() < end:\n    print(i, flush=True)\n    i += 1\n"
                            "    time.sleep(0.0005)\nprint('end')")
    shown = result.stdout.splitlines()
    assert shown[:-1] == [str(i) for i in range(len(shown) - 1)] and len(shown) > 200
    assert len(messages(result)) <= 60


def test_two_streams_in_turn_are_paced(kernel):
    """
    Each line is a message, for their order is kept; a running cell's leave at a rate that
    jupyter_server passes on: at most 3,000 in any 3 s. All are there before idle.
    """
    code = ("import sys, time\nend = time.monotonic() + 4.5\ni = 0\n"
            "while time.monotonic() < end:\n"
            "    print('o', i)\n    print('e', i, file=sys.stderr)\n    i += 1\n"
            "    time.sleep(0.0005)")
    result = kernel.execute(code, timeout=60)
    shown = [m for m in result.body if m.type == "stream"]
    everything = "".join(m.content["text"] for m in shown)
    assert everything == "".join(f"o {i}\ne {i}\n" for i in range(everything.count("o")))
    times = [when(m) - when(result.input) for m in shown]
    for i, at in enumerate(times):
        if at + 3 < 4.4:
            assert bisect.bisect_left(times, at + 3) - i <= 3000


def test_order_of_a_burst(kernel):
    """5,000 lines in turn, displays and clear_output between them: everything in its place."""
    code = ("import sys\nfrom IPython.display import clear_output\n"
            "for i in range(2500):\n    print('o', i)\n    print('e', i, file=sys.stderr)\n"
            "    if i % 100 == 0:\n        display(i)\n        clear_output(wait=True)\n")
    wanted = []
    for i in range(2500):
        wanted += [("stdout", f"o {i}\n"), ("stderr", f"e {i}\n")]
        wanted += [("display", text(str(i))), ("clear", True)] if i % 100 == 0 else []
    assert kernel.run(code) == wanted


def test_what_is_displayed_in_turn_is_seen_while_the_cell_waits(kernel, tmp_path):
    """No bell rings for the second one; the kernel looks by itself. The cell ends when it was seen."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = f"for i in range(3): display(i)\nx = open({str(gate)!r}).read()"
    msg_id = kernel.send_execute(code)
    seen = [kernel.take("iopub", lambda m: m.type == "display_data") for _ in range(3)]
    assert [m.content["data"]["text/plain"] for m in seen] == ["0", "1", "2"]
    gate.write_text("x")
    assert kernel.finish_execute(msg_id, code).outputs == []


# --- progress bars -------------------------------------------------------------------------


def test_carriage_returns_and_timeliness(kernel):
    """C009, as it stands there."""
    result = kernel.execute("import time\nfor i in range(4):\n"
                            "    print(\"\\r%3d%%\" % (i * 25), end=\"\")\n"
                            "    time.sleep(0.5)\nprint(\"\\rdone \")")
    assert result.stdout == "\r  0%\r 25%\r 50%\r 75%\rdone \n"
    first = when(messages(result)[0])
    assert first - when(result.input) < 0.3
    for step, message in enumerate(messages(result)):
        assert message.content["text"].startswith(("\r  0%", "\r 25%", "\r 50%", "\r 75%",
                                                   "\rdone")[step])
        assert abs(when(message) - first - step * 0.5) < 0.3


def test_a_fast_progress_bar_is_few_messages(kernel):
    """10,000 states in a moment: what is overwritten before it is sent is not sent."""
    code = ("for i in range(10_001):\n"
            "    print('\\rstep %5d |%-50s|' % (i, '█' * (i // 200)), end='')\nprint()")
    result = kernel.execute(code)
    assert len(messages(result)) <= 20
    assert len(result.stdout) < 10_000
    last = result.stdout.rpartition("\r")[2]
    assert last == "step 10000 |" + "█" * 50 + "|\n"


def test_progress_bars_give_their_characters_back(start):
    """Bars that were sent and overwritten, more than the bound of them, and still visible."""
    kernel = start(args=["--max-output", "1000"])
    code = ("import time\nfor i in range(60):\n    print('\\r%-100d' % i, end='')\n"
            "    time.sleep(0.03)\nprint('\\rdone')")
    result = kernel.execute(code)
    assert len(result.stdout) > 1000 and markers(result.stdout) == []
    assert result.stdout.endswith("\rdone\n")


def test_a_bar_that_is_never_seen_counts_nothing(kernel):
    """Millions of characters of overwritten text leave the bound to what is visible."""
    code = ("for i in range(300_000): print('\\r%09d' % i, end='')\n"
            "print('\\n' + 'x' * 900_000)")
    result = kernel.execute(code)
    assert markers(result.stdout) == []
    assert result.stdout.endswith("\r000299999\n" + "x" * 900_000 + "\n")


# --- other writers ---------------------------------------------------------------------------


def test_a_thread_that_speaks_on(kernel):
    """C006: the lines of the first cell's thread come once, soon, with one cell as parent."""
    first = kernel.execute(
        "import threading, time\ndef worker():\n    for i in range(3):\n        time.sleep(0.6)\n"
        "        print(\"tick\", i)\nt = threading.Thread(target=worker)\nt.start()\n"
        "print(\"started\")")
    assert first.outputs == out("started\n")
    assert when(first.iopub[-1]) - when(first.input) < 0.5
    assert kernel.run("time.sleep(1.0)\nprint(\"second\")") == out("second\n")
    late = [kernel.take("iopub", lambda m: m.type == "stream", 5) for _ in range(3)]
    assert [m.content["text"] for m in late] == ["tick 0\n", "tick 1\n", "tick 2\n"]
    assert {m.parent_id for m in late} == {first.reply.parent_id}
    for i, message in enumerate(late):
        assert abs(when(message) - when(first.input) - 0.6 * (i + 1)) < 0.5
    assert kernel.run("t.join()\nprint(\"joined\")") == out("joined\n")


@pytest.mark.parametrize("flush", [False, True], ids=["", "flushed"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_lines_of_parallel_children_stay_whole(kernel, method, flush):
    """multiprocessing: each child's lines come whole, in its order, none is lost."""
    code = (f"import multiprocessing\ncontext = multiprocessing.get_context({method!r})\n"
            f"child = 'for i in range(1000): print(name, i, name * 50, flush={flush})'\n"
            "children = [context.Process(target=exec, args=(child, {'name': name}))\n"
            "            for name in 'abcd']\n"
            "for c in children: c.start()\nfor c in children: c.join()\n"
            "print([c.exitcode for c in children])")
    lines = kernel.execute(code, timeout=60).stdout.splitlines()
    assert lines[-1] == "[0, 0, 0, 0]"
    for name in "abcd":
        assert [line for line in lines if line.startswith(name)] == [
            f"{name} {i} {name * 50}" for i in range(1000)]
    assert len(lines) == 4001


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_line_of_a_child_is_seen_while_it_runs(kernel, method, tmp_path):
    """It ends only when its line was seen; stdout and stderr."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    for stream in ("stdout", "stderr"):
        child = f"import sys; print(1, file=sys.{stream}); x = open({str(gate)!r}).read()"
        code = (f"import multiprocessing\nchild = {child!r}\n"
                f"p = multiprocessing.get_context({method!r}).Process(target=exec, args=(child, {{}}))\n"
                "p.start()\np.join();")
        msg_id = kernel.send_execute(code)
        seen = ""
        while seen != "1\n":
            seen += kernel.take("iopub", lambda m: m.type == "stream").content["text"]
            assert "1\n".startswith(seen)
        gate.write_text("x")
        assert kernel.finish_execute(msg_id, code).outputs == []


def test_long_lines_of_forked_children_stay_whole(kernel):
    """Longer than what the kernel writes to a pipe at once."""
    code = ("import os\ndef child(name):\n    for i in range(20): print(name * 100_000)\n"
            "    os._exit(0)\n"
            "pids = []\nfor name in 'abcd':\n    pid = os.fork()\n"
            "    if pid == 0: child(name)\n    pids.append(pid)\n"
            "done = [os.waitpid(pid, 0)[1] for pid in pids]\nprint(done)")
    result = kernel.execute(code, timeout=60)
    head, _, _ = result.stdout.partition("\n...(truncated")
    lines = head.splitlines()
    assert len(lines) >= 9
    assert {(line[0], len(line), len(set(line))) for line in lines[:-1]} <= {
        (name, 100_000, 1) for name in "abcd"}


def test_a_child_that_is_given_sys_stdout(kernel):
    assert kernel.run("import subprocess, sys\nprint('before')\n"
                      "r = subprocess.run(['echo', 'child'], stdout=sys.stdout)\n"
                      "print('after')") == out("before\nchild\nafter\n")


def test_nothing_comes_after_idle(kernel):
    """Promise 2: every way to write, cell after cell; each cell has all of its own."""
    kernel.run("import ctypes, os, subprocess, sys\nlibc = ctypes.PyDLL(None)")
    for i in range(100):
        result = kernel.execute(
            f"print('print {i}')\nn = os.write(1, b'write {i}\\n')\nr = os.system('echo system {i}')\n"
            f"r = libc.puts(b'puts {i}')\nsys.stderr.write('error {i}');")
        assert sorted(result.stdout.splitlines()) == sorted(
            f"{how} {i}" for how in ("print", "write", "system", "puts"))
        assert result.stderr == f"error {i}"
    assert kernel.leftovers() == []
