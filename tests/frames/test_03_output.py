"""Streams of cells: chunks as they come, and bounds."""

import json
import time

import pytest

from client import MARKER

LIMIT = 1_000_000


@pytest.mark.parametrize(
    "write, n",
    [
        ("sys.stdout.write('x' * {n})", LIMIT - 1),
        ("sys.stdout.write('x' * {n})", LIMIT),
        ("sys.stdout.write('x' * {n})", LIMIT + 1),
        ("sys.stdout.write('x' * {n})", 3 * LIMIT),
        ("for _ in range({n} // 1000): sys.stdout.write('x' * 1000)", LIMIT),
        ("for _ in range({n} // 1000): sys.stdout.write('x' * 1000)", 2 * LIMIT),
        ("sys.stdout.write('\\U0001f600' * {n})", LIMIT),
        ("sys.stdout.write('\\U0001f600' * {n})", LIMIT + 1),
        ("sys.stdout.write('\\x01' * {n})", LIMIT),
    ],
)
def test_stdout_is_bounded_with_one_marker_if_something_was_cut(worker, write, n):
    result = worker.execute("import sys\n" + write.format(n=n) + "\nsys.stdout.flush()")
    assert result["error"] is None
    cut = n > LIMIT
    assert len(result["stdout"]) == min(n, LIMIT) + (len(MARKER) if cut else 0)
    assert result["stdout"].count("...(truncated at") == int(cut)
    assert result["stdout"].endswith(MARKER) == cut
    assert "".join(result.chunks) == result["stdout"]
    assert max(map(len, result.chunks)) <= 64_000
    assert (result.chunks[-1] == MARKER) == cut, "the marker is a chunk of its own"


@pytest.mark.parametrize("n", [LIMIT, LIMIT + 1, 50 * LIMIT])
def test_stderr_is_bounded_and_not_streamed(worker, n):
    result = worker.execute(f"import sys\nfor _ in range(2): sys.stderr.write('e' * ({n} // 2))\n"
                            f"if {n} % 2: sys.stderr.write('e')\nNone")
    assert result.frames == []
    assert len(result["stderr"]) == min(n, LIMIT) + (len(MARKER) if n > LIMIT else 0)
    assert result["stderr"].endswith(MARKER) == (n > LIMIT)


def test_both_streams_and_the_error_at_their_limits_make_a_frame(worker):
    result = worker.execute(
        "import sys\n"
        "for stream in (sys.stdout, sys.stderr): stream.write('\\x01' * 1_000_000)\n"
        "raise ValueError('\\x01' * 2_000_000)"
    )
    assert (len(result["stdout"]), len(result["stderr"])) == (LIMIT, LIMIT)
    assert result["error"].endswith(MARKER) and len(result["error"]) == LIMIT + len(MARKER)
    assert result["trace"]["error_lineno"] == 3


def test_write_says_how_much_it_was_given(worker):
    code = "import sys\nn = [sys.stdout.write('x' * 900_000) for _ in range(3)]\nn += [sys.stdout.write('')]"
    worker.execute(code)
    assert worker.execute("n")["stdout"] == "[900000, 900000, 900000, 0]\n"


@pytest.mark.parametrize(
    "code, text",
    [
        ("raise ValueError('x' * 12_000_000)", MARKER),
        ("raise SystemExit('x' * 12_000_000)", MARKER),
        ("raise ValueError('x' * 1000)", "x\n"),
        ("raise SystemExit('x' * 1_000_000)", "x"),
    ],
)
def test_the_text_of_an_error_is_bounded(worker, code, text):
    result = worker.execute(code)
    assert result["error"].endswith(text)
    assert result["error"].count("truncated") <= 1
    assert len(result["error"]) <= LIMIT + 100


@pytest.mark.parametrize("text", ["\\ud800", "a\\udfffb", "\\ud83d \\ude00"])
def test_a_lone_surrogate_is_shown_as_one_that_cannot_be(worker, text):
    result = worker.execute(f"import sys\nprint('{text}')\nsys.stderr.write('{text}')\nNone")
    assert "\ufffd" in result["stdout"] and "\ufffd" in result["stderr"]
    assert "".join(result.chunks) == result["stdout"]
    assert "\ufffd" in worker.execute(f"raise ValueError('{text}')")["error"]


def test_frames_are_utf_8_and_not_escaped(worker):
    cell = worker.start("print('ä\U0001f600')\nhost._call('ping', ['ä\U0001f600'])")
    lines = [worker.read_line() for _ in range(3)]
    assert "ä\U0001f600".encode() in lines[0] and b'"stdout_chunk"' in lines[0]
    call = json.loads(lines[2])
    assert call["type"] == "host_call" and "ä\U0001f600".encode() in lines[2]
    worker.answer(call, lambda method, args: None)
    response = worker.read_line()
    assert response.endswith(b"\n") and "ä\U0001f600".encode() in response and cell.encode() in response


def test_chunks_come_as_they_are_written(worker):
    cell = worker.start("import time\nprint('first')\nhost._call('ping', [])\nprint('second')")
    assert worker.read() == {"type": "stdout_chunk", "id": cell, "text": "first"}
    result = worker.finish(cell)
    assert result["stdout"] == "first\nsecond\n"


def test_a_stream_looks_like_a_stringio(worker):
    result = worker.execute(
        "import io, sys\n"
        "for stream in (sys.stdout, sys.stderr):\n"
        "    assert isinstance(stream, io.StringIO) and isinstance(stream, io.TextIOBase)\n"
        "    assert not stream.isatty() and stream.writable() and not hasattr(stream, 'buffer')\n"
        "    try: stream.fileno()\n"
        "    except io.UnsupportedOperation: pass\n"
        "    else: raise AssertionError\n"
        "    stream.writelines(['a', 'b'])\n"
        "    assert stream.getvalue() == 'ab'\n"
    )
    assert (result["error"], result["stdout"], result["stderr"]) == (None, "ab", "ab")


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nprint('kept')\nsys.stdout.close()\nsys.stderr.close()",
        "import sys\nprint('kept')\nsys.stdout = None",
        "import sys\nprint('kept')\ndel sys.stdout, sys.stderr",
        "import sys, io\nprint('kept')\nsys.stdout = io.StringIO()\nprint('elsewhere')",
        "import sys\nwith sys.stdout: print('kept')",
        "import sys\nprint('kept')\nsys.stdout.write(5)",
    ],
)
def test_a_cell_that_spoils_its_stream_has_said_what_it_said(worker, code):
    result = worker.execute(code)
    assert result["stdout"] == "kept\n"
    worker.alive()


def test_a_stream_closed_the_hard_way_does_not_end_the_worker(worker):
    worker.execute("import io, sys\nio.StringIO.close(sys.stdout)\nsys.stdout.write('x')")
    worker.alive()


def test_what_a_stream_does_is_not_a_cells_to_change_for_the_next(worker):
    result = worker.execute("import sys\ntype(sys.stdout).__init__ = lambda self: 1 / 0")
    assert "TypeError" in result["error"]
    worker.execute("sys.stdout.write = None")
    worker.alive()


def test_an_old_cells_stream_speaks_in_its_cells_name(worker):
    cell = worker.start("import sys\nold = sys.stdout")
    worker.finish(cell)
    result = worker.execute("old.write('from before')\nprint('mine')")
    assert result["stdout"] == "mine\n"
    assert {"type": "stdout_chunk", "id": cell, "text": "from before"} in result.frames


def test_the_c_level_streams_are_stderr(start):
    worker = start()
    result = worker.execute(
        "import os, sys, subprocess\n"
        "os.write(1, b'one\\n')\n"
        "os.write(2, b'two\\n')\n"
        "print('three', file=sys.__stdout__)\n"
        "subprocess.run(['echo', 'four'])\n"
        "os.system('echo five')\n"
        "None"
    )
    assert result["stdout"] == result["stderr"] == ""
    assert worker.stderr().split() == ["one", "two", "three", "four", "five"]


def test_between_cells_threads_print_to_stderr(start):
    worker = start()
    worker.execute(
        "import threading\n"
        "go = threading.Event()\n"
        "def late():\n"
        "    go.wait()\n"
        "    print('late')\n"
        "    host._call('ping', [])\n"
        "threading.Thread(target=late).start()\n"
        "threading.Timer(0.1, go.set).start()"
    )
    call = worker.until_call()
    worker.answer(call, lambda method, args: None)
    worker.alive()
    assert "late" in worker.stderr()


def test_many_lines_are_whole_whoever_writes(worker):
    """Threads write at the same time; every frame must parse, and nothing is lost."""
    result = worker.execute(
        "import threading\n"
        "def write(n):\n"
        "    for i in range(200): sys.stdout.write(f'{n}:{i}:' + 'x' * 2000 + '\\n')\n"
        "import sys\n"
        "threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in threads]\n"
        "[t.join() for t in threads]\n"
    )
    lines = ["".join(result.chunks).splitlines()[i].split(":x")[0] for i in range(400)]
    assert len(set(lines)) == 400
    assert "".join(result.chunks) == result["stdout"]


def test_a_host_that_reads_late_loses_nothing(worker):
    cell = worker.start("for i in range(3000): print('x' * 100, i)")
    time.sleep(0.3)  # the pipe is full by then; how long it takes does not matter
    result = worker.finish(cell)
    assert "".join(result.chunks) == result["stdout"]
    assert result["stdout"].count("\n") == 3000


def test_an_oversized_frame_is_replaced(worker):
    """A log takes its place, so the channel stays in step."""
    result = worker.execute(
        "import _einkorn\n_einkorn.write_frame({'type': 'thing', 'text': 'x' * 20_000_000})"
    )
    assert result.logs == ["kernel dropped an oversized 'thing' frame (>20000000 bytes)"]


@pytest.mark.parametrize(
    "extra, problem",
    [("'x' * 20_000_000", "oversized 'response' frame (>20000000 bytes)"), ("loop", "RecursionError")],
)
def test_a_response_that_is_replaced_keeps_type_and_id(worker, extra, problem):
    result = worker.execute(
        "import _einkorn\nloop = []\nloop.append(loop)\n"
        "_einkorn.write_frame({'type': 'response', 'id': 'other', 'interrupted': True,"
        f" 'stdout': {extra}}})"
    )
    [frame] = result.frames
    assert problem in frame.pop("error")
    assert frame == {"type": "response", "id": "other", "stdout": "", "stderr": "", "interrupted": True}
