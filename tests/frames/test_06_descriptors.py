"""Cells that close, cover, print to and search descriptors: the protocol goes on."""

import os

import pytest

IN = "sys._openai4s_protocol_stdin"
OUT = "sys._openai4s_protocol_stdout"


def open_fds(worker):
    return sorted(map(int, os.listdir(f"/proc/{worker.pid}/fd")))


def test_the_protocol_lies_high_and_is_not_inherited(start):
    worker = start()
    assert [fd for fd in open_fds(worker) if 2 < fd < 256] == []
    result = worker.execute(
        f"import os, sys\nfor f in ({IN}, {OUT}): print(f.fileno() > 255, os.get_inheritable(f.fileno()))\n"
        "print(os.get_inheritable(sys._openai4s_proto_in_reserve))"
    )
    assert result["stdout"].split() == ["True", "False"] * 2 + ["False"]


def test_with_a_small_limit_of_files_it_lies_where_it_can(start):
    import resource

    worker = start(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert all(fd < 64 for fd in open_fds(worker))
    worker.alive()


def test_what_is_published(start):
    worker = start()
    result = worker.execute(
        "import os, sys\n"
        f"status = os.fstat({IN}.fileno())\n"
        "print(sys._openai4s_protocol_ident == (status.st_dev, status.st_ino))\n"
        "print(sys._openai4s_parked_wrappers)\n"
        f"print({IN}.encoding, {OUT}.encoding, {IN}.mode, {OUT}.mode)\n"
        "print(type(sys._openai4s_protocol_lock).__name__, sys._openai4s_protocol_lock.locked())\n"
        "print(sys._openai4s_host_call_lock.locked())\n"
        "print(hasattr(sys, '_openai4s_remote_generation'))"
    )
    assert result["stdout"].splitlines() == [
        "True", "[]", "utf-8 utf-8 r w", "lock False", "False", "False"
    ]


HOSTILE = [
    "import os\nos.closerange(0, 3)",
    "import os\nos.closerange(0, 256)",
    "import os\nos.closerange(3, 256)",
    "import os\nfor fd in range(256):\n    try: os.close(fd)\n    except OSError: pass",
    "import os\nfd = os.open('/dev/null', os.O_RDWR)\nfor n in range(256):\n    if n != fd: os.dup2(fd, n)",
    "import os\nr, w = os.pipe()\nfor n in (0, 1, 2): os.dup2(w, n)",
    "import os\nfor fd in (0, 1, 2):\n    for i in range(3):\n        try: os.write(fd, b'{\"type\":\"response\",\"id\":\"cell-1\"}\\n')\n        except OSError: pass",
    "import sys\nprint('{\"type\":\"log\",\"msg\":\"forged\"}', file=sys.__stdout__)",
    "import subprocess\nsubprocess.run('echo forged; echo forged >&2; cat <&0', shell=True)",
    "import sys\nsys.stdin.close(); sys.__stdout__.close(); sys.__stderr__.close()",
    f"import os, sys\nos.close({IN}.fileno())",
    f"import os, sys\nos.close({OUT}.fileno())",
    f"import os, sys\nos.close({OUT}.fileno())\nos.close({IN}.fileno())",
    f"import os, sys\n{IN}.close()\n{OUT}.close()",
    f"import os, sys\n{IN} = {OUT} = None",
    f"import os, sys\ndel {IN}, {OUT}",
    f"import io, sys\n{IN} = io.StringIO('[]')\n{OUT} = io.StringIO()",
    f"import sys\n{IN}, {OUT} = open('/dev/null'), open('/dev/null', 'w')",
    f"import os, sys\nn = os.open('/dev/null', os.O_RDWR)\nos.dup2(n, {IN}.fileno())\nos.dup2(n, {OUT}.fileno())",
    f"import sys\n{IN} = {OUT} = type('F', (), dict(fileno=lambda self: 1 / 0))()",
    f"import sys\n{IN}, {OUT} = {OUT}, {IN}",
    "import sys\nsys._openai4s_parked_wrappers = None\nsys._openai4s_protocol_ident = (1, 2)",
    "import sys\nsys._openai4s_protocol_lock = sys._openai4s_host_call_lock = None",
    "import sys\nsys._openai4s_host_call_lock.acquire()\nsys._openai4s_host_call_lock.release()",
    "import sys\nsys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None",
    "import sys\nsys.stdin = sys.stdout = 5",
    "import sys\nsys.modules.clear()",
    "import builtins\nbuiltins.print = builtins.open = builtins.compile = builtins.repr = None",
    "import json\njson.loads = json.dumps = None",
    "import linecache, traceback\nlinecache.cache = None\ntraceback.TracebackException = None\n1 / 0",
    "globals().clear()",
    "import gc\ngc.disable()\ngc.collect()",
    "import os\nos.environ.clear()\nos.chdir('/')",
    "import sys\nsys.setrecursionlimit(70)\ndef f(): f()\nf()",
    "import sys\nsys.settrace(lambda *a: 1 / 0)",
    "import sys\nsys.excepthook = sys.displayhook = None",
    "import os\nos.close(2)\nfile = open('/dev/null', 'w')\nassert file.fileno() == 2",
    "import threading\nthreads = [threading.Thread(target=lambda: exec('1 / 0')) for _ in range(20)]\n"
    "for t in threads: t.start()\nfor t in threads: t.join()",
    "import faulthandler\nfaulthandler.disable()",
    "import atexit\natexit._clear()",
    "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass",
]


@pytest.mark.parametrize("code", HOSTILE)
def test_a_hostile_cell_neither_breaks_nor_forges(start, code):
    """It is answered, and so is the next one; no frame but ours comes."""
    worker = start()
    result = worker.execute(code)
    assert [f for f in result.frames if f["type"] not in ("stdout_chunk", "log")] == []
    for _ in range(2):
        cell = worker.start("x = 6")
        worker.finish(cell)
        result = worker.finish(worker.start("x * 7"))
        assert (result["stdout"], result["error"]) == ("42\n", None), dict(result)
    worker.send({"type": "inspect_variables", "id": "v"})
    assert worker.read()["type"] == "variables_response"
    assert result.frames == [{"type": "stdout_chunk", "id": result["id"], "text": "42\n"}]


def test_a_cell_that_takes_the_room_for_files(start):
    worker = start(env={"ASAN_OPTIONS": "detect_leaks=0"})  # which needs files
    worker.execute("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))")
    for _ in range(3):
        worker.alive()


def test_the_way_in_is_made_anew_once(start):
    worker = start()
    code = f"import os, sys\nos.close({IN}.fileno())"
    worker.execute(code)
    result = worker.execute(
        "print(sys._openai4s_proto_in_reserve, len(sys._openai4s_parked_wrappers))"
    )
    assert result["stdout"] == "None 1\n"
    worker.start(code)
    assert worker.read()["type"] == "response"
    assert worker.wait() == 1
    assert "protocol IN corrupted and no reserve fd to recover" in worker.stderr()
    assert worker.read() is None


def test_a_file_of_the_cells_on_our_number_stays_the_cells(start, tmp_path):
    """The parked wrapper must not close it."""
    worker = start()
    worker.execute(
        "import gc, os, sys\n"
        f"n = {IN}.fileno()\n"
        f"fd = os.open({str(tmp_path / 'mine')!r}, os.O_RDWR | os.O_CREAT)\n"
        "os.dup2(fd, n)\nos.close(fd)"
    )
    result = worker.execute("gc.collect()\nos.write(n, b'kept')\nos.close(n)")
    assert result["error"] is None
    assert (tmp_path / "mine").read_bytes() == b"kept"
    worker.alive()


def test_the_way_in_is_covered_while_the_loop_reads(start):
    """A thread does it between cells: what is on its way is still read, and no other file is."""
    worker = start()
    worker.execute(
        "import os, sys, threading\n"
        "def cover():\n"
        "    r, w = os.pipe()\n"
        "    os.write(w, b'{\"id\":\"forged\",\"code\":\"print(666)\"}\\n')\n"
        f"    os.dup2(r, {IN}.fileno())\n"
        "    sys.__stderr__.write('covered')\n"
        "threading.Timer(0.1, cover).start()"
    )
    while "covered" not in worker.stderr():
        pass
    for _ in range(3):
        worker.alive()


def test_children_cannot_read_requests(start):
    """Neither those that inherit fd 0 nor forks, whatever descriptor they try."""
    worker = start()
    cell = worker.start(
        "import fcntl, os, subprocess, struct, sys, termios, time\n"
        "def waiting():\n"
        "    fd = sys._openai4s_protocol_stdin.fileno()\n"
        "    return struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, b'0000'))[0]\n"
        "print('ready')\n"
        "while not waiting(): time.sleep(0.01)\n"
        "child = subprocess.run([sys.executable, '-c', 'import sys; print(len(sys.stdin.read()))'],"
        " stdout=subprocess.PIPE, close_fds=False)\n"
        "r, w = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    got = b''\n"
        "    for fd in [0] + list(range(3, 1024)):\n"
        "        if fd in (r, w): continue\n"
        "        try:\n"
        "            os.set_blocking(fd, False)\n"
        "            got += os.read(fd, 100)\n"
        "        except OSError: pass\n"
        "    os.write(w, b'got ' + got)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print(child.stdout, os.read(r, 100))"
    )
    assert worker.read()["text"] == "ready"
    for n in range(3):
        worker.send({"id": f"next-{n}", "code": f"print({n})"})
    assert worker.finish(cell)["stdout"] == "ready\nb'0\\n' b'got '\n"
    for n in range(3):
        assert worker.finish(f"next-{n}")["stdout"] == f"{n}\n"


def test_forged_frames_on_every_descriptor_of_a_child(start):
    worker = start()
    result = worker.execute(
        "import os\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for fd in range(3, 1024):\n"
        "        try: os.write(fd, b'{\"type\":\"response\",\"id\":\"cell-1\"}\\n')\n"
        "        except OSError: pass\n"
        "    print('from the child')\n"
        "    import sys\n"
        "    print('and this', file=sys.stderr)\n"
        "else:\n"
        "    os.waitpid(pid, 0)\n"
        "    print('parent')"
    )
    assert result["stdout"] == "parent\n"
    assert [f["type"] for f in result.frames] == ["stdout_chunk"] * len(result.frames)
    lines = set(worker.stderr().splitlines())
    assert {"and this", "from the child"} <= lines, "what it prints is stderr, like all it can reach"
    worker.alive()


@pytest.mark.parametrize(
    "code, status, text",
    [("None", 0, ""), ("raise SystemExit(7)", 7, ""), ("1 / 0", 1, "ZeroDivisionError")],
)
def test_a_child_that_leaves_its_cell_ends_there(start, code, status, text):
    worker = start()
    result = worker.execute(
        "import os\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        f"    {code}\n"
        "else:\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert result["stdout"] == f"{status}\n"
    assert text in worker.stderr()
    worker.alive()


def test_multiprocessing_by_fork(worker):
    result = worker.execute(
        "import multiprocessing\n"
        "def square(n):\n    print('in a child')\n    return n * n\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(square, range(5)))"
    )
    assert (result["stdout"], result["error"]) == ("[0, 1, 4, 9, 16]\n", None)


def test_no_frame_comes_while_somebody_else_has_the_lock(start):
    """Who speaks the protocol, too, takes it."""
    worker = start()
    result = worker.execute(
        "import sys, threading, time\n"
        "lock, out = sys._openai4s_protocol_lock, sys._openai4s_protocol_stdout\n"
        "def speak():\n"
        "    time.sleep(0.1)\n"
        "    out.write('{\"type\":\"log\",\"msg\":\"first\"}\\n')\n"
        "    out.flush()\n"
        "    lock.release()\n"
        "lock.acquire()\n"
        "threading.Thread(target=speak).start()\n"
        "print('second')"
    )
    assert [frame["type"] for frame in result.frames][0] == "log"
    assert result["stdout"] == "second\n"


def test_a_lock_that_a_cell_keeps_delays_frames_and_stops_none(start):
    worker = start()
    worker.execute("import sys\nlock = sys._openai4s_protocol_lock\nlock.acquire()")
    worker.alive()
    worker.execute("lock.release()")


def test_a_host_call_lock_that_a_cell_keeps_is_interruptible(start):
    worker = start()
    worker.execute("import sys\nlock = sys._openai4s_host_call_lock\nlock.acquire()")
    cell = worker.start("print('before')\nhost._call('ping', [])")
    assert worker.read()["text"] == "before"
    worker.interrupt()
    assert worker.finish(cell)["interrupted"]
    worker.execute("lock.release()")
    assert worker.execute("host._call('ping', [])")["stdout"] == "'pong'\n"


def test_a_finalizer_that_prints_in_the_midst_of_a_frame(start):
    worker = start()
    result = worker.execute(
        "import gc, sys\n"
        "class Noisy:\n"
        "    def __del__(self): print('finalized')\n"
        "gc.set_threshold(1)\n"
        "for i in range(300):\n"
        "    a = Noisy(); a.a = a; del a\n"
        "    print(i)\n"
        "gc.set_threshold(700)\n"
        "gc.collect()\n"
    )
    assert result["error"] is None
    assert result["stdout"].count("finalized") == 300
    assert sorted("".join(result.chunks)) == sorted(result["stdout"])
    worker.alive()


@pytest.mark.parametrize("code", ["f()", "print(f())", "raise E"])
def test_deep_recursion(worker, code):
    worker.execute(
        "def f(): return f()\n"
        "class E(Exception):\n    def __str__(self): return f()\n"
        "class R:\n    def __repr__(self): return f()"
    )
    assert worker.execute(code)["error"] is not None
    assert "RecursionError" in worker.execute("R()")["error"]
    worker.alive()


@pytest.mark.parametrize("how", ["os._exit(5)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_a_cell_that_kills_the_worker_leaves_no_half_frame(start, how):
    worker = start()
    worker.start(f"import os\nprint('last words')\n{how}")
    frames = []
    while (frame := worker.read()) is not None:
        frames.append(frame)
    assert "".join(f["text"] for f in frames) == "last words\n"
    assert worker.wait() != 0


def test_the_host_may_kill_it_at_any_time(start):
    for n in range(10):
        worker = start()
        worker.start("while True: print('x' * 1000)")
        for _ in range(n * 3):
            worker.read()
        os.kill(worker.pid, 9)
        assert worker.wait() == -9
