"""
Issue 1, "Streams": a real text stream; order; what other processes, C code and
threads write; coalescing, timeliness and the bound.
"""

import json
import os
import time

import pytest
import zmq

from client import children_of, text


def out(value):
    return [("stdout", value)]


def messages(result, name="stdout"):
    return [m for m in result.iopub if m.type == "stream" and m.content["name"] == name]


# --- order ------------------------------------------------------------------------


def test_stdout_and_stderr_in_turn(fresh):
    """C001, peers 7.7: exact order between the two streams and the result."""
    result = fresh.execute("import sys\nfor i in range(3):\n    print(\"o%d\" % i)\n"
                           "    print(\"e%d\" % i, file=sys.stderr)\n42")
    assert result.outputs == [
        ("stdout", "o0\n"), ("stderr", "e0\n"), ("stdout", "o1\n"), ("stderr", "e1\n"),
        ("stdout", "o2\n"), ("stderr", "e2\n"), ("result", text("42"))]
    assert (result.status, result.count) == ("ok", 1)


def test_order_with_displays_and_errors(kernel):
    """Exact among Python-level writes, displays and results."""
    result = kernel.execute("import sys\nfor i in range(50):\n    print('o', i, end='')\n"
                            "    display(i)\n    sys.stderr.write('e')\nprint('last')\n1/0")
    wanted = []
    for i in range(50):
        wanted += [("stdout", f"o {i}"), ("display", text(str(i))), ("stderr", "e")]
    wanted += out("last\n") + [("error", "ZeroDivisionError", "division by zero")]
    assert result.outputs == wanted


def test_order_with_whole_lines_on_a_file_descriptor(kernel):
    """peers 7.7: exact between Python's writes and whole lines that the same thread writes to one fd."""
    code = ("import os\nfor i in range(200):\n    print('p', i)\n"
            "    os.write(1, b'w %d\\n' % i)\n    display(i)\n")
    wanted = []
    for i in range(200):
        wanted += [("stdout", f"p {i}\nw {i}\n"), ("display", text(str(i)))]
    assert kernel.run(code) == wanted


def test_order_with_os_system(kernel):
    """os.system between prints: its lines stand where they were written."""
    assert kernel.run("import os\nfor i in range(5):\n    print('before', i)\n"
                      "    rc = os.system(f'echo child {i}')\nprint('end', rc)") == out(
        "".join(f"before {i}\nchild {i}\n" for i in range(5)) + "end 0\n")


def test_order_after_the_beginning_of_a_line(kernel):
    """"Running… " without a line end, then a child's line, then the rest: all in their places."""
    code = ("import ctypes, os\nlibc = ctypes.PyDLL(None)\nwrite, say = os.write, sys.stdout.write\n"
            "for i in range(300):\n"
            "    print('a', end='')\n    write(1, b'b\\n')\n    say('c')\n    libc.puts(b'd')\n"
            "    libc.fflush(None)\n    print('e')\nprint('f', end='')\nrc = os.system('echo g')\nprint('h')")
    assert kernel.run("import sys\n" + code) == out("ab\ncd\ne\n" * 300 + "fg\nh\n")


def test_order_from_the_first_line_on(start):
    """The same in kernels that printed nothing before, where the first of all things is slow."""
    for _ in range(16):
        kernel = start()
        kernel.run("import os\nwrite = os.write")
        assert kernel.run("print('a')\nn = write(1, b'b\\n')\nprint('c')\nn = write(1, b'd\\n')\n"
                          "print('e')") == out("a\nb\nc\nd\ne\n")


# --- the surface ---------------------------------------------------------------------


def test_a_real_text_stream(kernel):
    """C003, peers 7.10."""
    assert kernel.run(
        "import subprocess, sys\nout = sys.stdout\n"
        "print(type(out.fileno()) is int, out.isatty(), out.encoding.lower().replace(\"-\", \"\"),"
        " out.writable(), out.readable(), hasattr(out, \"errors\"))\n"
        "r = subprocess.run([sys.executable, \"-c\", \"print('from child')\"], stdout=sys.stdout,"
        " stderr=sys.stderr)\n"
        "n = out.write(\"abc\")\nw = out.writelines([\"d\\n\", \"e\\n\"])\n"
        "print(r.returncode, n, w)"
    ) == out("True False utf8 True False True\nfrom child\nabcd\ne\n0 3 None\n")
    assert kernel.run("import sys\nn = sys.stdout.buffer.write(b\"raw \\xc3\\xa9\\n\")\n"
                      "sys.stdout.buffer.flush()") == out("raw é\n")
    failed = kernel.fail("sys.stdout.write(b\"bytes\")")
    assert failed.error[0] == "TypeError"
    assert failed.error[1].startswith("write() argument must be str")
    assert kernel.fail("sys.stdout.write(1)").error[0] == "TypeError"


@pytest.mark.parametrize("name, fd", [("stdout", 1), ("stderr", 2)])
def test_surface(kernel, name, fd):
    """peers 7.10: isinstance of io.TextIOBase, encoding, errors, buffer, name, mode, closed, …"""
    kernel.run(f"import io, sys\ns = sys.{name}")
    for expression, value in [
        ("isinstance(s, io.TextIOBase)", "True"),
        ("s.encoding.lower()", "'utf-8'"),
        ("type(s.errors)", "<class 'str'>"),
        ("s.name", f"'<{name}>'"),
        ("s.mode", "'w'"),
        ("s.closed", "False"),
        ("s.isatty()", "False"),
        ("type(s.line_buffering)", "<class 'bool'>"),
        ("s.writable(), s.readable(), s.seekable()", "(True, False, False)"),
        ("s.fileno()", str(fd)),
        ("s.reconfigure(line_buffering=True)", None),
        ("s.flush()", None),
        ("s.write('')", "0"),
        ("s.buffer.write(b'')", "0"),
        ("isinstance(s.buffer, io.BufferedIOBase)", "True"),
        ("s.buffer.writable()", "True"),
        ("s.buffer.fileno()", str(fd)),
    ]:
        assert kernel.run(expression) == (
            [("result", text(value))] if value is not None else []), expression
    for call in ("s.read()", "s.readline()", "s.seek(0)", "s.tell()", "s.detach()"):
        failed = kernel.fail(call)
        assert failed.error[0] in ("UnsupportedOperation", "OSError", "ValueError"), call
    assert kernel.run("import contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n"
                      "    print('inside')\nf.getvalue()") == [("result", text("'inside\\n'"))]


def test_a_stream_of_the_users_own_is_respected(kernel):
    """sys.stdout may be replaced and put back; print(file=…) too."""
    assert kernel.run("import io, sys\nkeep, sys.stdout = sys.stdout, io.StringIO()\n"
                      "print('hidden')\ntaken = sys.stdout.getvalue()\nsys.stdout = keep\n"
                      "print(repr(taken))") == out("'hidden\\n'\n")


def test_print_to_the_original_streams(kernel):
    """sys.__stdout__ and sys.__stderr__ are flushed at the end of the cell."""
    assert kernel.run("import sys\nprint('o', file=sys.__stdout__)") == out("o\n")
    assert kernel.run("print('e', file=sys.__stderr__)") == [("stderr", "e\n")]


def test_closing_does_not_silence_the_kernel(kernel):
    kernel.execute("sys.stdout.close()")
    assert kernel.run("print('still here')") == out("still here\n")


# --- other writers -----------------------------------------------------------------------


OTHERS = [
    ("os.system", "import os\nrc = os.system('echo out; echo err >&2')",
     {"stdout": "out\n", "stderr": "err\n"}),
    ("subprocess", "import subprocess\nr = subprocess.run(['echo', 'sub'])", {"stdout": "sub\n"}),
    ("subprocess to sys.stderr", "import subprocess, sys\n"
     "r = subprocess.run(['echo', 'sub'], stdout=sys.stderr)", {"stderr": "sub\n"}),
    ("puts", "import ctypes\nr = ctypes.CDLL(None).puts(b'from C')", {"stdout": "from C\n"}),
    ("printf without newline", "import ctypes\nr = ctypes.CDLL(None).printf(b'no newline')",
     {"stdout": "no newline"}),
    ("os.write", "import os\nn = os.write(1, b'one') + os.write(2, b'two')",
     {"stdout": "one", "stderr": "two"}),
    ("faulthandler", "import faulthandler\nfaulthandler.dump_traceback(all_threads=False)", None),
]


@pytest.mark.parametrize("code, wanted", [o[1:] for o in OTHERS], ids=[o[0] for o in OTHERS])
def test_other_writers_are_heard_before_idle(kernel, code, wanted):
    """peers 7.7, 7.8: os.system, subprocess, ctypes puts, faulthandler output appear before idle."""
    for _ in range(10):
        result = kernel.execute(code)
        assert result.status == "ok"
        if wanted is None:
            assert result.stdout == ""
            lines = result.stderr.splitlines()
            assert lines[0].startswith("Stack (most recent call first):")
            assert 'line 2 in <module>' in lines[1]
        else:
            assert {n: result.stream(n) for n in wanted} == wanted
            assert sum(map(len, wanted.values())) == len(result.stdout + result.stderr)


def test_forks(kernel):
    """C008, peers 7.8: raw forks, a child that falls off the cell's end, a pool; nothing is left."""
    before = kernel.worker
    result = kernel.execute(
        "import os, sys, time\npid = os.fork()\nif pid == 0:\n"
        "    print(\"child says hi\", flush=True)\n    os._exit(0)\n"
        "print(\"parent saw\", os.waitpid(pid, 0)[1])")
    assert sorted(result.stdout.splitlines()) == ["child says hi", "parent saw 0"]
    fell = kernel.execute(
        "pid = os.fork()\nif pid == 0:\n"
        "    raise RuntimeError(\"child fell off the end of the cell\")\n"
        "for _ in range(40):\n    done = os.waitpid(pid, os.WNOHANG)\n    if done[0]:\n"
        "        break\n    time.sleep(0.1)\n"
        "print(\"child gone:\", done[0] == pid, done[1] != 0)")
    assert fell.status == "ok" and fell.stdout == "child gone: True True\n"
    assert [m.type for m in fell.body if m.type != "stream"] == []
    pool = kernel.execute(
        "import multiprocessing as mp\ndef f(x):\n    print(\"in\", x, flush=True)\n"
        "    return x * x\nwith mp.get_context(\"fork\").Pool(2) as p:\n"
        "    print(p.map(f, [1, 2, 3]))")
    lines = pool.stdout.splitlines()
    assert sorted(lines[:3]) == ["in 1", "in 2", "in 3"] and lines[3:] == ["[1, 4, 9]"]
    assert kernel.run("print(\"alive\", os.getpid() == os.getpid())") == out("alive True\n")
    assert kernel.worker == before
    assert children_of(kernel.pid) == [before] and children_of(before) == []


def test_a_forked_child_that_ends_normally(kernel):
    """sys.exit and the end of the cell in the child: it goes, and only its text is seen."""
    for end in ("sys.exit(0)", "pass", "raise KeyboardInterrupt"):
        result = kernel.execute(
            f"import os, sys\npid = os.fork()\nif pid == 0:\n    print('c')\n    {end}\n"
            "else:\n    done = os.waitpid(pid, 0)\n    print('p')")
        assert sorted(result.stdout) == sorted("c\np\n")
        assert {m.type for m in result.body} == {"stream"}


def test_exit_in_a_forked_child_ends_the_child(kernel):
    """exit() there asks no client, and what stands behind it does not run; nor does a payload go."""
    result = kernel.execute(
        "import os, einkorn\nfor leave in exit, lambda: einkorn.page('x'):\n    pid = os.fork()\n"
        "    if pid == 0:\n        leave()\n        print('never')\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
    assert (result.status, result.stdout) == ("ok", "0\n1\n")
    assert "a forked child has no connection to the notebook" in result.stderr
    assert result.reply.content["payload"] == []


def test_spawned_children_print_too(kernel):
    assert kernel.run(
        "import subprocess, sys\n"
        "ps = [subprocess.Popen([sys.executable, '-c', 'print(\"x\" * 70)']) for _ in range(5)]\n"
        "codes = [p.wait() for p in ps]") == out(("x" * 70 + "\n") * 5)


# --- characters --------------------------------------------------------------------------


def test_utf8_split_over_reads(kernel):
    """peers 7.8: UTF-8 split over reads survives: odd pieces through a pipe and in one large write."""
    assert kernel.run("import os\nfor b in 'é😀'.encode():\n    n = os.write(1, bytes([b]))"
                      ) == out("é😀")
    for shift in range(4):
        assert kernel.run(f"import os\nn = os.system(\"printf '{'a' * shift}%.0s' 1; "
                          "for i in $(seq 5000); do printf '\\\\360\\\\237\\\\230\\\\200'; done\")"
                          ) == out("a" * shift + "😀" * 5000)


def test_bytes_that_are_no_utf8(kernel):
    """Replaced, and nothing around them is lost."""
    assert kernel.run("import os\nn = os.write(1, b'a\\xff\\xfeb\\xe2\\x82c\\n')") == out(
        "a\ufffd\ufffdb\ufffdc\n")
    assert kernel.run("import os\nn = os.write(1, b'cut \\xe2\\x82')") == out("cut \ufffd")


def test_lone_surrogates(kernel):
    """peers 7.5: replaced, and lose nothing (ipykernel loses the whole buffer)."""
    (name, value), = kernel.run("print('before')\nprint('\\ud800 x')\nprint('after')")
    assert name == "stdout"
    first, second, third = value.splitlines()
    assert (first, second[1:], third) == ("before", " x", "after")
    assert second[0] in "\ufffd?"


def test_control_characters_pass(kernel):
    value = "".join(map(chr, range(1, 32))) + "\x7f\u2028\u0085 \\ \" end"
    assert kernel.run(f"print({value!r}, end='')") == out(value)
    assert kernel.run("print('a\\0b', end='')") == out("a\0b")


# --- time ----------------------------------------------------------------------------------


def test_a_piece_without_a_line_end_is_seen_while_the_cell_goes_on(kernel, tmp_path):
    """C009 by events: each piece is seen before the cell, which does not flush, goes on."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = (f"for i in range(4):\n    print(\"\\r%3d%%\" % (i * 25), end=\"\")\n"
            f"    x = open({str(gate)!r}).read()\nprint(\"\\rdone \")")
    msg_id = kernel.send_execute(code)
    for i in range(4):
        piece = kernel.take("iopub", lambda m: m.type == "stream", 5)
        assert piece.content == {"name": "stdout", "text": "\r%3d%%" % (i * 25)}
        gate.write_text("x")
    assert kernel.reply("shell", msg_id).content["status"] == "ok"
    assert [m.content["text"] for m in kernel.iopub(msg_id) if m.type == "stream"] == ["\rdone \n"]


def test_a_line_is_seen_while_the_cell_goes_on(kernel, tmp_path):
    """Issue: seen before a sleep ends. The cell goes on only after the line has been seen here."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = f"print('line')\nx = open({str(gate)!r}).read()\nprint('rest')"
    cell = kernel.started(code, mark="line\n")
    gate.write_text("x")
    assert kernel.finished(cell).outputs == out("line\nrest\n")
    kernel.run("import time")
    before = time.monotonic()
    cell = kernel.started("print('line')\ntime.sleep(0.6)", mark="line\n")
    assert time.monotonic() - before < 0.3
    assert kernel.queue["iopub"][-1].content.get("text") == "line\n"
    assert kernel.finished(cell).outputs == out("line\n")


def test_two_hundred_thousand_prints(kernel):
    """peers 7.6: under 100 messages; every character in order."""
    result = kernel.execute("for i in range(200_000): print(i % 10)")
    assert result.stdout == "".join(f"{i % 10}\n" for i in range(200_000))
    assert len(messages(result)) < 100


def test_a_burst_is_split(kernel):
    """A chunk grows with the flood, but not for ever (issue 3 took back 64,000 characters)."""
    result = kernel.execute("print('x' * 999_999)")
    assert result.stdout == "x" * 999_999 + "\n"
    sizes = [len(m.content["text"]) for m in messages(result)]
    assert sizes[0] <= 128_000 and max(sizes) <= 512_000


def test_a_slow_subscriber_holds_the_writer_and_loses_nothing(fresh):
    """peers 7.6: one that takes nothing makes the cell wait; then all 80 MB come, in order."""
    slow = fresh.context.socket(zmq.SUB)
    slow.linger, slow.rcvhwm = 0, 1
    slow.subscribe(b"")
    slow.connect(fresh.endpoint("iopub"))
    fresh.welcome()
    code = ("for i in range(80):\n"
            "    display({'text/plain': f'{i:03}' + 'x' * 1_000_000}, raw=True)\nprint('end')")
    msg_id = fresh.send_execute(code)
    assert not fresh.sockets["shell"].poll(1500)  # held
    shown = []
    while not shown or shown[-1] != "idle":
        assert slow.poll(10_000), shown
        frames = slow.recv_multipart()
        kind, parent = (json.loads(frames[i]).get(k) for i, k in ((3, "msg_type"), (4, "msg_id")))
        if parent == msg_id:
            content = json.loads(frames[6])
            shown.append(content["data"]["text/plain"][:3] if kind == "display_data" else
                         content.get("execution_state", kind))
    slow.close()
    wanted = [f"{i:03}" for i in range(80)]
    assert shown == ["busy", "execute_input", *wanted, "stream", "idle"]
    result = fresh.finish_execute(msg_id, code)
    assert [o[1]["text/plain"][:3] for o in result.outputs[:-1]] == wanted
    assert result.outputs[-1] == ("stdout", "end\n")


# --- the bound --------------------------------------------------------------------------------


def bounded(result, limit, name="stdout"):
    """Head of `limit` characters, one marker, the last 20,000 characters. -> (head, tail)"""
    value = result.stream(name)
    mark = f"\n...(truncated at {limit} characters)"
    assert value.count("...(truncated at") == 1, value[limit - 50:limit + 100]
    head, tail = value.split(mark)
    assert len(head) == limit
    return head, tail


def test_output_is_bounded(kernel):
    """
    Issue: 1,000,000 characters per stream and cell, exactly one marker, and the last 20,000
    characters when the cell ends. The other stream and the next cell are not affected.
    """
    code = "import sys\nfor i in range(300_000): print('%09d' % i)\nprint('e', file=sys.stderr)"
    result = kernel.execute(code)
    whole = "".join("%09d\n" % i for i in range(300_000))
    head, tail = bounded(result, 1_000_000)
    assert head == whole[:1_000_000]
    assert tail.lstrip("\n") == whole[-20_000:]
    assert result.stderr == "e\n"
    assert kernel.run("print('next')") == out("next\n")


def test_exactly_at_the_bound(kernel):
    """1,000,000 characters pass whole; one more is marked."""
    result = kernel.execute("print('é' * 1_000_000, end='')")
    assert result.stdout == "é" * 1_000_000
    head, tail = bounded(kernel.execute("print('é' * 1_000_000, end='')\nprint('z', end='')"),
                         1_000_000)
    assert (head, tail.lstrip("\n")) == ("é" * 1_000_000, "z")


def test_stderr_is_bounded_too(kernel):
    code = "import sys\nn = sys.stderr.write('a' * 1_500_000)"
    head, tail = bounded(kernel.execute(code), 1_000_000, "stderr")
    assert head == "a" * 1_000_000 and tail.lstrip("\n") == "a" * 20_000


def test_children_are_bounded_too(kernel):
    """fd-level output counts as the stream it belongs to."""
    result = kernel.execute("import os\n"
                            "rc = os.system('head -c 3000000 /dev/zero | tr \"\\\\0\" x')",
                            timeout=60)
    head, tail = bounded(result, 1_000_000)
    assert head == "x" * 1_000_000 and tail.lstrip("\n") == "x" * 20_000


@pytest.mark.parametrize("options", [
    {"args": ["--max-output", "1000"]},
    {"args": ["--max-output=1000"]},
    {"env": {"EINKORN_MAX_OUTPUT": "1000"}},
    {"env": {"EINKORN_MAX_OUTPUT": "5"}, "args": ["--max-output", "1000"]},
], ids=lambda o: str(o))
def test_the_bound_can_be_set(start, options):
    """--max-output N wins over EINKORN_MAX_OUTPUT."""
    kernel = start(**options)
    head, tail = bounded(kernel.execute("print('a' * 999, end='')\nprint('b' * 30_000, end='')"),
                         1000)
    assert head == "a" * 999 + "b" and tail.lstrip("\n") == "b" * 20_000
    assert kernel.run("print('a' * 999)") == out("a" * 999 + "\n")


def test_no_bound(start):
    """0 = none."""
    kernel = start(args=["--max-output", "0"])
    assert kernel.execute("print('a' * 3_000_000)").stdout == "a" * 3_000_000 + "\n"


# --- threads and tasks -----------------------------------------------------------------------


def test_threads_speak_in_their_cell_after_its_idle(kernel):
    """C006, peers 7.9: with an event instead of time: each tick belongs to the thread's first cell."""
    code = ("import threading\ngo = threading.Semaphore(0)\ndef worker():\n"
            "    for i in range(3):\n        go.acquire()\n        print(\"tick\", i)\n"
            "t = threading.Thread(target=worker)\nt.start()\nprint(\"started\")")
    result = kernel.execute(code)
    assert result.outputs == out("started\n")
    thread_cell = result.reply.parent_id
    for i in range(3):
        second = kernel.send_execute(f"go.release()\nprint('second {i}')")
        kernel.reply("shell", second)
        own = [m for m in kernel.iopub(second) if m.type == "stream"]
        assert "".join(m.content["text"] for m in own) == f"second {i}\n"
        seen = ""
        while seen != f"tick {i}\n":
            late = kernel.take("iopub", lambda m: m.type == "stream", 5)
            assert late.parent_id == thread_cell, late
            seen += late.content["text"]
            assert f"tick {i}\n".startswith(seen), seen
    assert kernel.run("t.join()\nprint('joined')") == out("joined\n")


def test_a_tick_is_seen_during_another_cell_and_between_cells(kernel, tmp_path):
    """C006: the first tick while a cell runs that prints too, the others while the kernel is idle."""
    ticks, gate = tmp_path / "ticks", tmp_path / "gate"
    os.mkfifo(ticks)
    os.mkfifo(gate)
    first = kernel.execute(
        f"import os, threading\ndef worker():\n    fd = os.open({str(ticks)!r}, os.O_RDONLY)\n"
        f"    for i in range(3):\n        byte = os.read(fd, 1)\n        print(\"tick\", i)\n"
        f"t = threading.Thread(target=worker)\nt.start()\nprint(\"started\")")
    assert first.outputs == out("started\n")
    second = kernel.started(f"print('go')\nx = open({str(gate)!r}).read()\nprint(\"second\")")
    clock = open(ticks, "wb", buffering=0)
    for i in range(3):
        clock.write(b"x")
        seen = ""
        while seen != f"tick {i}\n":
            late = kernel.take("iopub", lambda m: m.parent_id == first.reply.parent_id, 5)
            assert late.content["name"] == "stdout", late
            seen += late.content["text"]
            assert f"tick {i}\n".startswith(seen), seen
        if i == 0:
            gate.write_text("x")
            assert kernel.finished(second).outputs == out("go\nsecond\n")
    clock.close()
    assert kernel.run("t.join()\nprint(\"joined\")") == out("joined\n")


def test_threads_of_threads_and_executors(kernel):
    """Output of a thread that a thread started goes to the first cell too."""
    code = ("import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "go2 = threading.Event()\n"
            "def deep():\n    go2.wait()\n    print('deep')\n"
            "outer = threading.Thread(target=lambda: threading.Thread(target=deep).start())\n"
            "outer.start()\nouter.join()")
    result = kernel.execute(code)
    assert result.outputs == []
    kernel.run("go2.set()")
    late = kernel.take("iopub", lambda m: m.type == "stream", 5)
    assert (late.parent_id, late.content["text"]) == (result.reply.parent_id, "deep\n")


def test_tasks_speak_in_their_cell(kernel):
    """peers 7.9: output of asyncio tasks goes to the cell that started them, also during another cell."""
    code = ("import asyncio\nready = asyncio.Event()\nasync def speak():\n"
            "    await ready.wait()\n    print('task')\ntask = asyncio.create_task(speak())")
    first = kernel.execute(code)
    second = kernel.execute("ready.set()\nawait asyncio.sleep(0.01)\nprint('cell')")
    assert second.outputs == out("cell\n")
    late = kernel.take("iopub", lambda m: m.type == "stream", 5)
    assert (late.parent_id, late.content["text"]) == (first.reply.parent_id, "task\n")


def test_many_threads_at_once_keep_their_lines(kernel):
    """8 threads of 500 lines: each write whole, nothing lost."""
    code = ("import threading\ndef w(n):\n    for i in range(500):\n"
            "        sys.stdout.write(f'{n}:{i}\\n')\n"
            "import sys\nts = [threading.Thread(target=w, args=(n,)) for n in range(8)]\n"
            "for t in ts: t.start()\nfor t in ts: t.join()")
    lines = kernel.execute(code).stdout.splitlines()
    for n in range(8):
        assert [line for line in lines if line.startswith(f"{n}:")] == [
            f"{n}:{i}" for i in range(500)]
    assert len(lines) == 4000


def test_an_error_in_a_thread_is_shown(kernel):
    """threading.excepthook writes to stderr, in the cell of the thread."""
    result = kernel.execute("import threading\nt = threading.Thread(target=lambda: 1/0)\n"
                            "t.start()\nt.join()")
    assert result.status == "ok"
    assert result.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_output_of_the_cells_child_after_idle(kernel, tmp_path):
    """fd-level output after idle goes to the cell that ran last."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    result = kernel.execute(f"import subprocess\n"
                            f"p = subprocess.Popen(['sh', '-c', 'read x < {gate}; echo late'])")
    assert result.outputs == []
    gate.write_text("x\n")
    late = kernel.take("iopub", lambda m: m.type == "stream", 5)
    assert (late.parent_id, late.content) == (result.reply.parent_id,
                                              {"name": "stdout", "text": "late\n"})
    kernel.run("p.wait();")
